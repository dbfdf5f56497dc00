"""scaled_dot_product_attention: softmax(scale * q @ k.T + mask) @ v."""
