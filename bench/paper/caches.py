"""The cache misses of an operation, counted by simulation, because the machine has no hardware counters.

    caches.py [--quick] DIRECTORY

Runs kaler's cache mode twice under cachegrind, with no key and with many, and divides the difference. The simulated
caches are 32 KB and 1 MB with lines of 64 bytes; the filter is 8 MB, so that a random line is in neither.
"""
import re
import subprocess
import sys

count = 10000 if '--quick' in sys.argv else 50000
directory = sys.argv[-1]
layouts = ('standard', 'partitioned', 'blocked 32768', 'blocked 512', 'partitioned_blocked')


def simulate(layout, operation, keys):
    run = subprocess.run(['valgrind', '--tool=cachegrind', '--cache-sim=yes', '--I1=32768,8,64', '--D1=32768,8,64',
                          '--LL=1048576,16,64', '--cachegrind-out-file=/dev/null', './kaler', 'cache', layout, operation, str(keys)],
                         check=True, capture_output=True, text=True)

    def total(label):
        return int(re.search(label + r':\s+([\d,]+)', run.stderr).group(1).replace(',', ''))
    return total('I +refs'), total('D +refs'), total('D1 +misses'), total('LLd misses')


with open(f'{directory}/kaler-caches.csv', 'w') as file:
    print('layout,operation,instructions,references,d1_misses,ll_misses', file=file)
    for layout in layouts:
        for operation in ('add', 'test'):
            idle, busy = simulate(layout, operation, 0), simulate(layout, operation, count)
            print(layout, operation, *(f'{(b - i) / count:.3f}' for b, i in zip(busy, idle)), sep=',', file=file)
