//! The native part of the Python package `vectored`: gather writes and scatter reads.
//!
//! `python/vectored/__init__.pyi` documents what Python programs see. The buffers of a call are exported by the buffer
//! protocol, and passed to the library as the entries of `writev(2)` while Python's lock is released. So other threads run,
//! and may change the content of a buffer, but not its size.

mod cost_model;
mod cursor;
mod failure;
mod gather;
mod list;
mod signals;
mod sys;
mod transfer;

use pyo3::prelude::*;

/// The module `vectored._vectored`.
#[pymodule(name = "_vectored")]
mod native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::cost_model::CostModel;
    #[pymodule_export]
    use crate::cursor::Cursor;
    #[pymodule_export]
    use crate::gather::Gather;
    #[pymodule_export]
    use crate::list::{
        read_exact, read_up_to_eof, resume_read, resume_write, write_all, write_once,
    };

    /// For `GatherWriter`: the descriptor of a file, or the exception that the functions would raise.
    #[pyfunction]
    #[pyo3(name = "_descriptor")]
    fn descriptor(file: &Bound<'_, PyAny>) -> PyResult<i32> {
        crate::sys::descriptor(file)
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::sys::refuse_other_interpreters(module.py())?;
        module.add("IOV_MAX", vectored::limits::iov_max())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
