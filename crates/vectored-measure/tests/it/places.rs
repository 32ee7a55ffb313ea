//! What is at the other end: threads beside longer lists, other programs, files without a page cache, and what is refused.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use vectored_machine::MonotonicClock;
use vectored_measure::measure::{
    DescriptorSampler, MeasureError, Outcome, RunError, check_direct, check_eviction, techniques,
};
use vectored_results::model::{CellSpec, Drain, Experiment, PageCache, Target, Workload};

use crate::support::{directory, experiment, run_rounds_quietly, skip};

fn measure(cells: &[CellSpec], directory: &Path) -> Result<Outcome, RunError> {
    let rivals = techniques(cells[0].conditions.operation, true);
    let experiment = Experiment {
        unranked: vec![],
        ..experiment(cells.to_vec(), &rivals, u64::MAX)
    };
    let mut sampler = DescriptorSampler::new(&MonotonicClock, directory, 1);
    run_rounds_quietly(&experiment, 2, &mut sampler, &MonotonicClock)
}

#[test]
fn small_samples_are_moved_between_samples_and_large_ones_by_threads() {
    use Drain::{BetweenSamples, BothThreads, ReaderThread, WriterThread};
    let write = |target, count, bytes| CellSpec::write(target, Workload::uniform(count, bytes));
    let read = |target, count, bytes| {
        CellSpec::read(target, Workload::uniform(count, bytes), PageCache::Hot)
    };
    let copy = CellSpec::copy;
    let (file, pipe, unix, tcp) = (Target::File, Target::Pipe, Target::Unix, Target::Tcp);
    // The capacity of a TCP socket for small writes depends on how soon their packets are delivered: on a busy machine,
    // small samples may need the thread. So only large samples are tested.
    for (cell, drain) in [
        (write(pipe, 7, 4096), Some(BetweenSamples)),
        // From 28,673 B on a thread reads, although a pipe has room for more.
        (write(pipe, 1, 28_673), Some(ReaderThread)),
        // One call fits, two do not.
        (write(unix, 1, 120_000), Some(BetweenSamples)),
        (write(unix, 2, 64), Some(BetweenSamples)),
        // A socket buffer charges a small write with far more than its bytes, so a thousand separate writes do not fit
        // although their bytes would.
        (write(unix, 1000, 16), Some(ReaderThread)),
        (write(tcp, 16, 65_536), Some(ReaderThread)),
        (write(file, 2, 64), None),
        (write(Target::FileOverwrite, 2, 64), None),
        (read(pipe, 2, 64), Some(BetweenSamples)),
        (read(pipe, 2, 20_000), Some(BetweenSamples)),
        (read(pipe, 16, 16_384), Some(WriterThread)),
        (read(unix, 2, 64), Some(BetweenSamples)),
        (read(unix, 16, 65_536), Some(WriterThread)),
        (read(tcp, 16, 65_536), Some(WriterThread)),
        (read(file, 2, 64), None),
        (copy(file, file, 300_000), None),
        (copy(file, pipe, 10_000), Some(BetweenSamples)),
        (
            copy(file, pipe, 10_000).with(|asked| asked.pipe_bytes = Some(4096)),
            Some(ReaderThread),
        ),
        // These copies would fit without a thread.
        (copy(file, pipe, 40_000), Some(ReaderThread)),
        (copy(unix, file, 40_000), Some(WriterThread)),
        (copy(pipe, unix, 40_000), Some(BothThreads)),
    ] {
        let outcome = measure(std::slice::from_ref(&cell), &directory()).unwrap();
        assert_eq!(outcome.cells[0].drain, drain, "{cell:?}");
    }
}

/// A Unix socket with a thread that serves one connection; the thread returns the number of bytes it has read.
fn listening(name: &str, serve: fn(UnixStream) -> u64) -> (PathBuf, JoinHandle<u64>) {
    let path = std::env::temp_dir().join(format!("vectored-{name}-{}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).unwrap();
    let thread = std::thread::spawn(move || serve(listener.accept().unwrap().0));
    (path, thread)
}

#[test]
fn a_socket_of_another_program_is_measured_over_one_connection_until_it_goes_away() {
    // The program answers, and unread answers must not block it.
    let (path, peer) = listening("socket", |mut stream| {
        let mut buffer = vec![0; 1 << 16];
        let mut read_bytes = 0;
        loop {
            match stream.read(&mut buffer).unwrap_or(0) {
                0 => return read_bytes,
                count => read_bytes += count as u64,
            }
            stream.write_all(b"answer").unwrap();
        }
    });
    let cell = |path: &Path, count, bytes| {
        CellSpec::write(Target::Socket, Workload::uniform(count, bytes))
            .with(|asked| asked.path = path.to_str().map(str::to_owned))
    };
    // Several cells, visited more than once.
    let cells = [cell(&path, 3, 64), cell(&path, 16, 4096)];
    let outcome = measure(&cells, &directory()).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(peer.join().unwrap() > 0);
    for cell in &outcome.cells {
        assert_eq!((cell.drain, cell.proof_calls), (Some(Drain::Peer), 0));
        assert_eq!(cell.conditions.path.as_deref(), path.to_str());
    }
    let (path, peer) = listening("leaver", |mut stream| {
        stream.read(&mut [0; 1 << 10]).unwrap() as u64
    });
    let error = measure(&[cell(&path, 3, 64)], &directory())
        .unwrap_err()
        .error
        .to_string();
    assert!(error.contains("socket"), "{error}");
    peer.join().unwrap();
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_cold_file_is_read_and_copied_from_its_device_or_refused() {
    let test = "a_cold_file_is_read_and_copied_from_its_device_or_refused";
    let read = CellSpec::read(Target::File, Workload::uniform(4, 5000), PageCache::Cold);
    let copy = CellSpec::copy(Target::File, Target::Pipe, 5000)
        .with(|asked| asked.page_cache = Some(PageCache::Cold));
    match check_eviction(&directory()) {
        Ok(()) => {
            for cell in [read.clone(), copy] {
                let outcome = measure(&[cell], &directory()).unwrap();
                let cell = &outcome.cells[0];
                assert_eq!(cell.conditions.page_cache, Some(PageCache::Cold));
                assert!(cell.techniques.iter().all(|one| one.calls_per_sample == 1));
            }
        }
        Err(error) => {
            let text = error.to_string();
            let mut devices = ["(ext4)", "(xfs)", "(btrfs)"].iter();
            assert!(!devices.any(|on| text.contains(on)), "{text}");
            skip(test, &format!("on a device: {text}"));
        }
    }
    let memory = Path::new("/dev/shm");
    if !memory.is_dir() {
        return skip(test, "in memory: /dev/shm does not exist");
    }
    for error in [
        check_eviction(memory).unwrap_err(),
        measure(&[read], memory).unwrap_err().error,
    ] {
        for word in ["/dev/shm", "tmpfs", "--dir", "--page-cache hot"] {
            assert!(error.to_string().contains(word), "{word}: {error}");
        }
    }
    match check_direct(memory) {
        Err(error @ MeasureError::OtherDirectory(_)) => {
            let text = error.to_string();
            for words in ["'/dev/shm' (tmpfs)", "with --dir, or omit --direct"] {
                assert!(text.contains(words), "{text}");
            }
        }
        other => skip(test, &format!("/dev/shm is no tmpfs: {other:?}")),
    }
}

/// The table of wrong command lines has all other refusals.
#[test]
fn conditions_that_do_not_go_together_are_an_error_of_the_run() {
    let copy = CellSpec::copy(Target::Pipe, Target::File, 5000);
    let ranked = copy.clone().with(|asked| asked.ranks = Some(2));
    for (cell, words) in [
        (copy.with(|asked| asked.from = None), "--from"),
        (ranked, "several ranks"),
    ] {
        let failed = measure(&[cell], &directory()).unwrap_err();
        assert!(failed.error.to_string().contains(words), "{failed:?}");
    }
}
