// Counts the allocations of a test program: a program that links this library has an operator new
// that counts.
#ifndef LCI_TESTING_ALLOCATIONS_ALLOCATIONS_H_
#define LCI_TESTING_ALLOCATIONS_ALLOCATIONS_H_

namespace lci {

// Calls of operator new in this process, by all threads.
long allocations();

}  // namespace lci

#endif  // LCI_TESTING_ALLOCATIONS_ALLOCATIONS_H_
