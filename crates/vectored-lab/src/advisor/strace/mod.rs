//! From the text of strace(1) to events.
