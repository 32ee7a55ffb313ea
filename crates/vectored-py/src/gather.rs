//! A gathering writer that threads may share.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use vectored::SegmentCursor;

use crate::cost_model::CostModel;
use crate::cursor::Cursor;
use crate::transfer::{place, write};

/// Writes lists of short and long buffers: copies runs of short buffers together, and references long buffers.
///
/// Each buffer of a system call costs the kernel some 20 ns, however short it is. Copying a short buffer costs less. The
/// cost model decides which buffers are short. The bytes arrive in the same order in any case.
///
/// Keep the Gather and use it again: it owns the memory into which it copies. Threads may share a Gather. A call that
/// runs at the same time as another call allocates memory of its own.
#[pyclass(frozen, module = "vectored")]
pub struct Gather {
    model: vectored::CostModel,
    /// The working memory, unless a call uses it. A second call at the same time, in another thread or a signal handler,
    /// gets new memory.
    idle: Mutex<Option<vectored::Gather>>,
}

impl Gather {
    fn with_gather<T>(&self, run: impl FnOnce(&mut vectored::Gather) -> T) -> T {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = idle().take();
        let mut gather = taken.unwrap_or_else(|| vectored::Gather::with_model(self.model));
        let result = run(&mut gather);
        *idle() = Some(gather);
        result
    }
}

#[pymethods]
impl Gather {
    #[new]
    #[pyo3(signature = (cost_model = None))]
    fn new(cost_model: Option<&CostModel>) -> Gather {
        Gather {
            model: cost_model.map_or_else(Default::default, |model| model.0),
            idle: Mutex::new(None),
        }
    }

    /// The costs that decide which buffers are copied.
    #[getter]
    fn cost_model(&self) -> CostModel {
        CostModel(self.model)
    }

    /// Write all buffers in order, and return the number of bytes, as the function write_all.
    #[pyo3(signature = (fd, buffers, offset = None))]
    fn write_all(
        &self,
        fd: &Bound<'_, PyAny>,
        buffers: &Bound<'_, PyAny>,
        offset: Option<i64>,
    ) -> PyResult<u64> {
        let offset = offset.map(place).transpose()?;
        let start = &mut SegmentCursor::new();
        self.with_gather(|gather| {
            write(
                fd,
                buffers,
                start,
                Some("resume_write"),
                |fd, list, _| match offset {
                    None => gather.write_all(fd, list),
                    Some(offset) => gather.write_all_at(fd, list, offset),
                },
            )
        })
    }

    /// Write from the cursor to the end of the list, and return the number of bytes of this call, as the function resume_write.
    fn resume_write(
        &self,
        fd: &Bound<'_, PyAny>,
        buffers: &Bound<'_, PyAny>,
        cursor: &Bound<'_, Cursor>,
    ) -> PyResult<u64> {
        let mut cursor = cursor.get().take_for(buffers)?;
        self.with_gather(|gather| {
            write(fd, buffers, &mut cursor.at, None, |fd, list, cursor| {
                gather.resume_write(fd, list, cursor)
            })
        })
    }

    fn __repr__(&self) -> &'static str {
        "<vectored.Gather>"
    }
}
