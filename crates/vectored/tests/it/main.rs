//! What the library promises, through its public interface, against real descriptors.

mod cursor;
mod descriptors;
mod reads;
mod support;
