#include <bits/stdc++.h>

template <std::integral T>
T added(std::span<const T> numbers) {
    T total{0};
    for (T number : numbers | std::views::all) total += number;
    return total;
}

static volatile int turns;

static long depth(long n) {
    volatile long below = n == 0 ? 0 : depth(n - 1);
    return n == 0 ? 0 : below + 1;
}

int main() {
    std::string mode;
    std::cin >> mode;
    if (mode == "hello") std::cout << std::format("{}, {} ✓\n", "héllo", "wörld");
    if (mode == "sum") {
        std::vector<long long> numbers(std::istream_iterator<long long>(std::cin), {});
        std::cout << added<long long>(numbers) << "\n";
    }
    if (mode == "crash") throw std::runtime_error("crashed");
    if (mode == "loop") while (true) turns = turns + 1;
    if (mode == "deep") std::cout << depth(100000) << "\n";
    if (mode == "hog") {
        std::vector<std::vector<char>> held;
        while (true) held.emplace_back(1000000, 'x');
    }
}
