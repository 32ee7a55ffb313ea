//! Files past the page cache: `--direct`.

use std::path::Path;

use vectored_lab::measure::check_direct;
use vectored_lab::model::{Cache, DirectIo, Target, Technique};

use crate::args::MeasureArgs;
use crate::failure::Failure;
use crate::target_path::ResolvedTarget;

/// The alignment of files on the simulated machine.
const SYNTHETIC: DirectIo = DirectIo {
    memory_bytes: 512,
    offset_bytes: 512,
};

/// Refuses options that `--direct` does not go with.
pub fn check(args: &MeasureArgs, targets: &[Target], rivals: &[Technique]) -> Result<(), Failure> {
    if !args.direct {
        return Ok(());
    }
    if cfg!(windows) {
        return Err(Failure::usage(
            "--direct is not available on Windows, which has no O_DIRECT: --technique write-file-gather measures transfers \
             past the cache",
        ));
    }
    let cached = rivals.iter().find(|rival| !rival.works_past_page_cache());
    let conflict = if !targets.iter().all(|target| target.is_file()) {
        return Err(Failure::usage(
            "--direct applies only to files: use --target file or file-overwrite, or omit --direct",
        ));
    } else if args.page_cache.is_some() {
        "--page-cache, since the page cache is bypassed: omit one of the two options".to_owned()
    } else if args.cache.contains(&Cache::Cold) {
        "--cache cold, since the device reads the segments, not the CPU: omit one of the two options".to_owned()
    } else if args.writers.is_some() {
        "--writers, whose records are not aligned: omit one of the two options".to_owned()
    } else if let Some(technique) = cached {
        let why = match technique {
            Technique::Mmap => "a mapping consists of pages of the page cache",
            _ => "its buffer is not aligned",
        };
        format!("--technique {technique}, since {why}: omit {technique}")
    } else {
        return Ok(());
    };
    Err(Failure::usage(format!(
        "--direct cannot be used with {conflict}"
    )))
}

/// The alignment of the files of a target; `None` without `--direct`.
///
/// # Errors
///
/// If files in the directory of the target cannot bypass the page cache.
pub fn alignment(args: &MeasureArgs, one: &ResolvedTarget) -> Result<Option<DirectIo>, Failure> {
    if !args.direct {
        return Ok(None);
    }
    if args.synthetic.is_some() {
        return Ok(Some(SYNTHETIC));
    }
    let directory = one.path.as_ref().map_or(&*args.dir, Path::new);
    let checked = check_direct(directory).map_err(|error| {
        Failure::of_directory(error).for_directory_of_target(one.path.is_some())
    })?;
    Ok(Some(checked))
}

/// The reason why a list is not measured; `None` if it is.
pub fn misfit(direct: Option<DirectIo>, runs: &[(usize, usize)]) -> Option<String> {
    let step = direct?.step_bytes();
    let fits = runs.iter().all(|(_, bytes)| bytes.is_multiple_of(step));
    (!fits).then(|| {
        format!(
            "with O_DIRECT the size of each segment must be a multiple of {step} bytes here; use such sizes, or omit \
             --direct"
        )
    })
}
