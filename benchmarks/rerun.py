"""Run again what is behind the tables, at one commit: what has a result of this commit already is skipped.

GEOGAE_DATA=… python benchmarks/rerun.py headline                  # refined and PCA on all seven sets: README's table
GEOGAE_DATA=… python benchmarks/rerun.py baselines attributes      # trivial baselines; attributes
GEOGAE_DATA=… python benchmarks/rerun.py sizes disjoint            # F1 against m; the split without isomorphic pairs
python benchmarks/rerun.py --show headline                         # only print the commands

Commit first: a result of modified code is marked as such and run again the next time. The trained methods take hours
and are run by hand: geogae benchmark run --methods sequential --core-minutes 20 --datasets …
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys

from record import RESULTS, ROOT

SMALL, LARGE = "MUTAG,AIDS,IMDB-BINARY", "QM9:20000,SYNTHETICnew,COLLAB,REDDIT-BINARY"
TRIVIAL = "path,complete,star,mean,nearest"
SIZES = "8,16,24,32,48,64,96,128,192,384"
PARTS = {
    "headline": [
        f"--methods linear,linear-tuned,refined --datasets {SMALL} --seeds 0-4",
        "--methods linear,linear-tuned,refined --datasets QM9:20000,SYNTHETICnew --seeds 0-2",
        "--methods linear,refined --datasets QM9,COLLAB,REDDIT-BINARY --seeds 0-2",
    ],
    "baselines": [f"--methods {TRIVIAL} --datasets {SMALL},{LARGE} --seeds 0-4 --split both"],
    "attributes": [
        "--methods refined-attributes --datasets MUTAG,AIDS,QM9:20000,QM9-numbers:20000 --seeds 0-2",
        "--methods refined-attributes --datasets MUTAG,AIDS --seeds 0-2 --set attributes=encoded",
        "--methods refined-attributes --datasets MUTAG,AIDS --seeds 0 --split disjoint",
    ],
    "sizes": [
        f"--methods linear-tuned,refined --datasets {SMALL} --seeds 0-4 --sizes {SIZES}",
        "--methods refined --datasets QM9:20000 --seeds 0-2 --sizes 8,16,24,32,48,64",
    ],
    "disjoint": [
        f"--methods linear,linear-tuned,refined --datasets {SMALL} --seeds 0-4 --split disjoint",
        "--methods linear,refined --datasets SYNTHETICnew,COLLAB,REDDIT-BINARY --seeds 0 --split disjoint",
    ],
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="+", choices=PARTS)
    parser.add_argument("--show", action="store_true", help="print the commands, run nothing")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time, each with one thread")
    chosen = parser.parse_args()
    for part in chosen.parts:
        for line in PARTS[part]:
            command = f"benchmark run --threads 1 --jobs {chosen.jobs} --again {line}"
            print(f"geogae {command}", file=sys.stderr, flush=True)
            if not chosen.show:
                options = [*shlex.split(command), "--results", str(RESULTS.relative_to(ROOT))]
                done = subprocess.run([sys.executable, "-m", "geogae", *options], cwd=ROOT)
                if done.returncode not in (0, 1):  # 1: some runs failed, which is a result
                    return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
