#ifndef LCI_BASE_ERROR_TEXT_H_
#define LCI_BASE_ERROR_TEXT_H_

#include <string>

namespace lci::base {

// The text of a failed system call for the user: the system's text of an errno and, if the call
// failed for want of file descriptors, the name of the error, the limit and how to raise it, as
// "Too many open files (EMFILE: this process may open 12; raise the limit, ulimit -n)". Any thread.
std::string error_text(int error_number);

// The text of a process or thread that could not be started: as error_text(), and for EAGAIN the
// limits of their number. Any thread.
std::string start_error_text(int error_number);

// EMFILE or ENFILE if this process can't open a file now, else 0. For calls that fail without an
// errno, or read a file and continue without it. Any thread.
int missing_descriptor();
// The same as an addition to an error's text: empty, or "; a common cause: Too many ...".
std::string descriptor_hint();

}  // namespace lci::base

#endif  // LCI_BASE_ERROR_TEXT_H_
