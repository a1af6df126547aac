// Loops that are compiled for several generations of processors, as FFTW's are.
#ifndef EXAMPLES_POISSON_VECTORS_H_
#define EXAMPLES_POISSON_VECTORS_H_

// Before a function, which is not inlined then. The version for the processor is chosen when the
// program is loaded, which is before ThreadSanitizer is ready.
#if defined(__x86_64__) && defined(__linux__) && !defined(__SANITIZE_THREAD__)
#define POISSON_VECTORS [[gnu::target_clones("default", "avx2", "avx512f")]]
#else
#define POISSON_VECTORS [[gnu::noinline]]
#endif

#endif  // EXAMPLES_POISSON_VECTORS_H_
