/* Functions that tests call (lazy_test.cc): one that takes numbers of both kinds, and one that is not there. */
#include "base/lazy/library.inc"

hr_lazy_library libcurl.so.4
hr_lazy_function curl_msnprintf
hr_lazy_function curl_that_nobody_wrote
