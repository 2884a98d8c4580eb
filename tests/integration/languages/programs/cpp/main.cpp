#include <bits/stdc++.h>
using namespace std;

static volatile int turns;

static long depth(long n) {
    volatile long below = n == 0 ? 0 : depth(n - 1);
    return n == 0 ? 0 : below + 1;
}

int main() {
    ios::sync_with_stdio(false);
    cin.tie(nullptr);
    string mode;
    cin >> mode;
    if (mode == "hello") cout << "héllo, wörld ✓\n";
    if (mode == "sum") {
        long long total = 0, number;
        while (cin >> number) total += number;
        cout << total << "\n";
    }
    if (mode == "crash") throw runtime_error("crashed");
    if (mode == "loop") while (true) turns = turns + 1;
    if (mode == "deep") cout << depth(100000) << "\n";
    if (mode == "hog") {
        vector<vector<char>> held;
        while (true) held.emplace_back(1000000, 'x');
    }
}
