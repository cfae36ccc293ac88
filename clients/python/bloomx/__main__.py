"""python3 -m bloomx info | contains | build"""
import sys

from . import main

if __name__ == "__main__":
    sys.exit(main())
