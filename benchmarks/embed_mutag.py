"""Make src/geogae/datasets/mutag.npz from a folder of MUTAG in TU format.

    python benchmarks/embed_mutag.py FOLDER

The folder is ``grakel/tests/data/MUTAG`` of the PyPI wheel of grakel (see src/geogae/datasets/NOTICE.md).
"""

import sys
from pathlib import Path

from geogae.formats.tu import read_tu_packed

TARGET = Path(__file__).parents[1] / "src/geogae/datasets/mutag.npz"

if __name__ == "__main__":
    packed = read_tu_packed(sys.argv[1])
    packed.save(TARGET, compress=True)
    print(f"{TARGET}: {len(packed)} graphs, {TARGET.stat().st_size:,} bytes")
