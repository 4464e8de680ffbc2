/* A function of a library that is nowhere (lazy_test.cc). */
#include "base/lazy/library.inc"

hr_lazy_library libnobody-has-it.so.1
hr_lazy_function headrace_of_a_missing_library
