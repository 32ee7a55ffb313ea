//! A test of a model whose staging buffer cannot be allocated.

use std::fs::File;
use std::io::{IoSliceMut, Seek};
use std::process::Command;

use vectored::cost::CopyThresholds;
use vectored::{CostModel, Gather, Scatter, SegmentCursor};

use crate::support::{TemporaryFile, emulator, list, payload};

const CHILD: &str = "VECTORED_LITTLE_MEMORY";

/// The test runs in a separate process with a limit of 500 MB, so that the staging buffer cannot be allocated.
#[test]
fn a_model_with_more_staging_than_there_is_memory_copies_nothing() {
    const NAME: &str = "memory::a_model_with_more_staging_than_there_is_memory_copies_nothing";
    if std::env::var_os(CHILD).is_none() {
        let limited = "ulimit -v 500000 && exec \"$@\"";
        let mut command = Command::new("sh");
        command.args(["-c", limited, "sh"]).args(emulator());
        command.arg(std::env::current_exe().unwrap());
        command.args(["--exact", NAME]);
        let output = command.env(CHILD, "1").output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {stderr}", output.status);
        return;
    }
    let too_large = Vec::<u8>::new().try_reserve_exact(1 << 30);
    assert!(
        too_large.is_err(),
        "the memory limit of this process has no effect"
    );
    let path = TemporaryFile::new("little-memory");
    for staging_bytes in [1 << 30, usize::MAX / 16, usize::MAX] {
        let model = CostModel::default().with(|costs| {
            costs.staging_bytes = staging_bytes;
            costs.copy_thresholds = CopyThresholds::everywhere(100);
        });
        let mut gather = Gather::with_model(model);
        let mut scatter = Scatter::with_model(model);
        for sizes in [
            &[3, 5][..],
            &[3, 5, 7000, 4],
            &[0, 0, 3, 5, 7000, 4, 4],
            &[7000, 3, 5, 60, 7000, 0, 1, 1],
            &[50; 3000],
        ] {
            let data = payload(sizes);
            let (segments, expected) = (list(&data), data.concat());
            for writer in 0..3 {
                let mut file = File::options();
                let file = file.read(true).write(true).create(true).truncate(true);
                let mut file = file.open(&path.0).unwrap();
                let cursor = &mut SegmentCursor::new();
                let written = match writer {
                    0 => gather.write_all(&file, &segments),
                    1 => gather.write_all_at(&file, &segments, 0),
                    _ => gather.resume_write(&file, &segments, cursor),
                };
                assert_eq!(written.unwrap(), expected.len() as u64, "{sizes:?}");
                assert!(std::fs::read(&path.0).unwrap() == expected, "{sizes:?}");

                file.rewind().unwrap();
                let mut places: Vec<_> = sizes.iter().map(|&size| vec![0; size]).collect();
                let mut segments: Vec<_> = places
                    .iter_mut()
                    .map(|place| IoSliceMut::new(place))
                    .collect();
                let read = scatter.read_exact(&file, &mut segments);
                assert_eq!(read.unwrap(), expected.len() as u64);
                assert!(places == data, "{sizes:?}");
            }
        }
    }
}
