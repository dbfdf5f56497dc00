"""Call an example's main() with lists of arguments and print what each says when it gives up."""

import importlib
import json
import sys

sys.path.insert(0, sys.argv[1])
main = importlib.import_module(sys.argv[2]).main
told = []
for arguments in json.loads(sys.argv[3]):
    try:
        main(arguments)
    except SystemExit as error:
        told.append(str(error))
print(json.dumps(told))
