#include <aplomb/diagnose.h>

#include <cstdio>

int main() { return 2; }
