//! The cost model, which decides which segments are copied.

use std::ffi::{CStr, OsStr};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

use libc::{c_char, c_int, c_uint, size_t};
use vectored::CostModel;
use vectored::cost::TargetKind;

use crate::entry::{Failure, free_object, new_object, object_ref, value};

/// What a descriptor refers to, as far as costs differ.
#[repr(C)]
#[derive(Clone, Copy)]
pub enum vectored_target {
    /// Another kind, or an unknown one. Calibration writes to /dev/null.
    VECTORED_OTHER = 0,
    /// A regular file that is appended to.
    VECTORED_FILE = 1,
    /// A regular file that is overwritten.
    VECTORED_FILE_OVERWRITE = 2,
    /// A pipe or FIFO.
    VECTORED_PIPE = 3,
    /// A Unix stream socket.
    VECTORED_UNIX = 4,
    /// A TCP socket.
    VECTORED_TCP = 5,
}

/// The costs of a call, a segment and a byte. They decide which segments are copied; all bytes are written with any model.
/// A model does not change, so threads may share it. Free it with `vectored_cost_model_free`.
pub struct vectored_cost_model(pub(crate) CostModel);

/// Returns the default model for a kind of descriptor, one of `enum vectored_target`. Free it with
/// `vectored_cost_model_free`.
///
/// Errors (NULL and errno): EINVAL if `target` is not in `enum vectored_target`, ENOMEM.
#[unsafe(no_mangle)]
pub extern "C" fn vectored_cost_model_for_target(target: c_int) -> *mut vectored_cost_model {
    new_object(|| {
        let kind = target_kind(target)?;
        Ok(vectored_cost_model(CostModel::for_target(kind)))
    })
}

/// Measures a model on this machine for about `budget_ms` milliseconds: 50 are enough on an idle machine. The function
/// makes and closes the descriptors that it measures. Free the model with `vectored_cost_model_free`.
///
/// `target` is one of `enum vectored_target`. If `target` is a file, an unnamed file of up to 16 MiB is made in
/// `directory`. Otherwise `directory` is not used and may be NULL.
///
/// Errors (NULL and errno): EINVAL if `target` is not in `enum vectored_target`, EFAULT if `directory` is NULL and
/// `target` is a file, ENOMEM, and the errors of the system calls that make and write the descriptors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_cost_model_calibrate(
    target: c_int,
    directory: *const c_char,
    budget_ms: c_uint,
) -> *mut vectored_cost_model {
    new_object(|| {
        let directory = if directory.is_null() {
            None
        } else {
            // SAFETY: the caller promises a text that ends with a zero.
            Some(unsafe { CStr::from_ptr(directory) })
        };
        let path = directory.map(|text| Path::new(OsStr::from_bytes(text.to_bytes())));
        let kind = target_kind(target)?;
        if matches!(kind, TargetKind::File | TargetKind::FileOverwrite) && path.is_none() {
            return Err(Failure::with_code(libc::EFAULT));
        }
        let directory = path.unwrap_or(Path::new(""));
        let budget = Duration::from_millis(budget_ms.into());
        let model = CostModel::calibrate(kind, directory, budget)?;
        Ok(vectored_cost_model(model))
    })
}

/// Reads the model of a target from the file `path`: a result that `vectored measure --format json` printed on this type
/// of machine. The command calibrated the model before its run. Free the model with `vectored_cost_model_free`.
///
/// `target` is one of `enum vectored_target`; VECTORED_OTHER has the model of `--target null`.
///
/// Errors (NULL and errno): EINVAL if `target` is not in `enum vectored_target`, EFAULT if `path` is NULL, EBADMSG if the
/// file is no result of `vectored measure` or has no calibrated model of the target, ENOMEM, and the errors of reading
/// the file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_cost_model_load(
    path: *const c_char,
    target: c_int,
) -> *mut vectored_cost_model {
    new_object(|| {
        let kind = target_kind(target)?;
        if path.is_null() {
            return Err(Failure::with_code(libc::EFAULT));
        }
        // SAFETY: the caller promises a text that ends with a zero.
        let path = unsafe { CStr::from_ptr(path) };
        match CostModel::load(OsStr::from_bytes(path.to_bytes()), kind) {
            Ok(model) => Ok(vectored_cost_model(model)),
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                Err(Failure::with_code(libc::EBADMSG))
            }
            Err(error) => Err(error.into()),
        }
    })
}

/// Frees a model. NULL is allowed. errno is kept.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_cost_model_free(model: *mut vectored_cost_model) {
    // SAFETY: the caller promises that it is null or a model that is not used again.
    unsafe { free_object(model) };
}

/// Returns the length in bytes of the longest segment that this model copies in a list of `iovcnt` segments. 0 means that
/// nothing is copied.
///
/// Error (0 and errno): EFAULT if `model` is NULL, and no other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_cost_model_copy_below_bytes(
    model: *const vectored_cost_model,
    iovcnt: size_t,
) -> size_t {
    value(0, || {
        // SAFETY: the caller promises that it is null or a model.
        let model = unsafe { object_ref(model) }?.0;
        Ok(model.copy_below_bytes(iovcnt))
    })
}

/// The target with this number of `enum vectored_target`.
///
/// # Errors
///
/// `EINVAL` if no target has the number.
pub(crate) fn target_kind(target: c_int) -> Result<TargetKind, Failure> {
    use vectored_target::*;
    const KINDS: [(vectored_target, TargetKind); 6] = [
        (VECTORED_OTHER, TargetKind::Other),
        (VECTORED_FILE, TargetKind::File),
        (VECTORED_FILE_OVERWRITE, TargetKind::FileOverwrite),
        (VECTORED_PIPE, TargetKind::Pipe),
        (VECTORED_UNIX, TargetKind::Unix),
        (VECTORED_TCP, TargetKind::Tcp),
    ];
    let named = KINDS.into_iter().find(|known| known.0 as c_int == target);
    named
        .map(|known| known.1)
        .ok_or(Failure::with_code(libc::EINVAL))
}
