"""fashion_mnist.py with another mirror: fetches from the first folder into the second, trains."""

import hashlib
import json
import sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])

import fashion_mnist  # noqa: E402  (found through the path above)

source, target = Path(sys.argv[2]), Path(sys.argv[3])
files = {name: hashlib.md5((source / name).read_bytes()).hexdigest()
         for name in fashion_mnist.FILES}
fashion_mnist.download(target, source.as_uri() + "/", files)
data = fashion_mnist.FashionMNISTDataset(target, train=False)
image, label = data[3]
print(json.dumps({
    "files": sorted(path.name for path in target.iterdir()), "length": len(data),
    "image": [list(image.shape), str(image.dtype), image.min().item(), image.max().item()],
    "label": [list(label.shape), label.item()],
}))
