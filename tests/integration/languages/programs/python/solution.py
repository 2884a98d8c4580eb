import sys


def depth(n: int) -> int:
    return 0 if n == 0 else 1 + depth(n - 1)


mode, *numbers = sys.stdin.read().split()
if mode == "hello":
    print("héllo, wörld ✓")
elif mode == "sum":
    print(sum(map(int, numbers)))
elif mode == "crash":
    raise ValueError("crashed")
elif mode == "loop":
    while True:
        pass
elif mode == "deep":
    sys.setrecursionlimit(200_000)
    print(depth(100_000))
elif mode == "hog":
    held: list[bytearray] = []
    while True:
        held.append(bytearray(b"x" * 1_000_000))
