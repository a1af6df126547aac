// Defines LCI_BASE_ADDRESS_SANITIZER or LCI_BASE_THREAD_SANITIZER if GCC or Clang compiles for that
// sanitizer.
#ifndef LCI_BASE_SANITIZER_H_
#define LCI_BASE_SANITIZER_H_

#if defined(__SANITIZE_ADDRESS__)
#define LCI_BASE_ADDRESS_SANITIZER 1
#endif
#if defined(__SANITIZE_THREAD__)
#define LCI_BASE_THREAD_SANITIZER 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(LCI_BASE_ADDRESS_SANITIZER)
#define LCI_BASE_ADDRESS_SANITIZER 1
#endif
#if __has_feature(thread_sanitizer) && !defined(LCI_BASE_THREAD_SANITIZER)
#define LCI_BASE_THREAD_SANITIZER 1
#endif
#endif

#endif  // LCI_BASE_SANITIZER_H_
