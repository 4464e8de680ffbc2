#pragma once

// Marks what libheadrace.so shows (deploy/cmake/exports.map lists it too). All else is hidden.
#define HEADRACE_PUBLIC [[gnu::visibility("default")]]
