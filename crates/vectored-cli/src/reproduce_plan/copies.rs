//! The plan of `apue-3.5`.

use vectored_measure::reproduce::{CopyPlan, CopyProgram, CopyTarget, INPUT, OUTPUT};
use vectored_report::words;
use vectored_results::model::{PUBLISHED_FILE_BYTES, PageCache, SyncMode};
use vectored_versus::{SplitError, split};

use crate::args::CopiesArgs;
use crate::failure::Failure;
use crate::strace;

/// The divisor of the file size with `--quick`. The smallest buffers then take a second instead of a minute.
const QUICK_COPY: u64 = 32;

/// The default of `--min` if each write waits for the device.
const SYNCED_MIN_BYTES: u64 = 4096;

pub fn copies(of: &CopiesArgs, is_quick: bool) -> Result<CopyPlan, Failure> {
    let to = of.to.clone().unwrap_or(CopyTarget::Null);
    let sync = of.sync.unwrap_or(SyncMode::None);
    if sync != SyncMode::None && !matches!(to, CopyTarget::File(_)) {
        return Err(Failure::usage(
            "--sync applies only to files: use --to file or --to DIRECTORY, or omit --sync",
        ));
    }
    let smallest = match sync {
        SyncMode::Dsync | SyncMode::Sync => SYNCED_MIN_BYTES,
        SyncMode::None | SyncMode::Fsync => 1,
    };
    let min = of.min.unwrap_or(smallest);
    let published = CopyPlan::published_buffers();
    let last = published.last().copied().unwrap_or(1);
    let max = of.max.unwrap_or(last);
    let buffer_bytes: Vec<u64> = (0..=30)
        .map(|power| 1 << power)
        .filter(|bytes| (min..=max).contains(bytes))
        .collect();
    if buffer_bytes.is_empty() {
        return Err(Failure::usage(format!(
            "no buffer size lies between --min {} and --max {}: sizes are powers of two from 1 B \
             to 1 GiB; use a smaller --min or a larger --max",
            words::bytes(min),
            words::bytes(max),
        )));
    }
    let file_bytes = match of.file_size {
        Some(bytes) => bytes,
        None if is_quick => PUBLISHED_FILE_BYTES / QUICK_COPY,
        None => PUBLISHED_FILE_BYTES,
    };
    Ok(CopyPlan {
        file_bytes,
        buffer_bytes,
        page_cache: of.page_cache.unwrap_or(PageCache::Hot),
        to,
        sync,
        reduced: file_bytes < PUBLISHED_FILE_BYTES,
        program: of.program.as_deref().map(program).transpose()?,
    })
}

/// Parses `--program`, without the redirections `< {input}` and `> {output}`. Fails if the program is not found.
fn program(typed: &str) -> Result<CopyProgram, Failure> {
    let mut rest = typed.to_owned();
    for redirection in [" < {input}", " <{input}", " > {output}", " >{output}"] {
        rest = rest.replacen(redirection, " ", 1);
    }
    let words = split(&rest).map_err(|error| {
        let why = match error {
            SplitError::ForShells(found) => format!(
                "it is run without a shell, and has a {found} for one: of redirections it may have '< {INPUT}' and \
                 '> {OUTPUT}'; for anything else write sh -c '…'"
            ),
            other => other.to_string(),
        };
        Failure::usage(format!("cannot run --program '{typed}': {why}"))
    })?;
    strace::find(words[0].as_ref())?;
    Ok(CopyProgram {
        typed: typed.to_owned(),
        words,
        is_ours: false,
    })
}
