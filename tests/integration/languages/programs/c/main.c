#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile int turns;

static long depth(long n) {
    volatile long below = n == 0 ? 0 : depth(n - 1);
    return n == 0 ? 0 : below + 1;
}

int main(void) {
    char mode[16];
    if (scanf("%15s", mode) != 1) return 2;
    if (!strcmp(mode, "hello")) puts("héllo, wörld ✓");
    if (!strcmp(mode, "sum")) {
        long long total = 0, number;
        while (scanf("%lld", &number) == 1) total += number;
        printf("%lld\n", total);
    }
    if (!strcmp(mode, "crash")) abort();
    if (!strcmp(mode, "loop")) while (1) turns++;
    if (!strcmp(mode, "deep")) printf("%ld\n", depth(100000) + (long)sqrt(0.0 * turns));
    if (!strcmp(mode, "hog"))
        for (;;) {
            char *held = malloc(1000000);
            if (!held) abort();
            memset(held, 'x', 1000000);
        }
}
