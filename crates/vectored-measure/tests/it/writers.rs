//! Several writers at once, on real targets.

use std::io;
use std::net::TcpListener;
use std::os::fd::BorrowedFd;
use std::sync::mpsc::channel;

use vectored::CostModel;
use vectored_machine::MonotonicClock;
use vectored_measure::measure::{
    Contender, DescriptorSampler, Mover, Outcome, RunError, WriterMovers, movers,
};
use vectored_results::model::{
    CellSpec, Drain, Experiment, Layout, Target, TechniqueName, Workload,
};

use crate::support::{directory, experiment, run_rounds_quietly};

const TECHNIQUES: [TechniqueName; 4] = [
    TechniqueName::WRITE_EACH,
    TechniqueName::COPY_THEN_WRITE,
    TechniqueName::WRITEV,
    TechniqueName::new("stdio"),
];

fn measure(
    cells: Vec<CellSpec>,
    techniques: &[TechniqueName],
    make_mover: WriterMovers,
) -> Result<Outcome, RunError> {
    let experiment = Experiment {
        unranked: Vec::new(),
        ..experiment(cells, techniques, u64::MAX)
    };
    let clock = MonotonicClock;
    let mut sampler = DescriptorSampler::new(&clock, &directory(), experiment.seed)
        .with_writer_movers(make_mover);
    run_rounds_quietly(&experiment, 4, &mut sampler, &clock)
}

fn with_writers(target: Target, workload: Workload, count: u32) -> CellSpec {
    CellSpec::write(target, workload).with(|asked| asked.writers = Some(count))
}

#[test]
fn every_byte_of_several_threads_is_found() {
    let mut cells = Vec::new();
    for target in [Target::File, Target::Pipe, Target::Unix, Target::Tcp] {
        for count in [1, 3] {
            for sizes in [vec![5; 7], vec![40, 3, 700], vec![30_000, 1]] {
                cells.push(with_writers(target, Workload::from_sizes(sizes), count));
            }
        }
    }
    let adjacent = with_writers(Target::File, Workload::uniform(9, 30), 2)
        .with(|asked| asked.layout = Layout::Adjacent);
    cells.push(adjacent);
    let outcome = measure(cells, &TECHNIQUES, movers).unwrap();
    for cell in &outcome.cells {
        let writers = cell.conditions.writers.unwrap();
        for technique in &cell.techniques {
            let figures = technique.writers.as_ref().unwrap();
            let what = format!(
                "{} with {writers} and {}",
                cell.conditions.target, technique.name
            );
            assert_eq!(figures.writer_median_ns.len(), writers as usize, "{what}");
            assert!(figures.fairness_min <= figures.fairness, "{what}");
            let lowest = 1.0 / f64::from(writers);
            assert!(
                figures.fairness_min >= lowest - 1e-3,
                "{what}: {}",
                figures.fairness_min
            );
        }
        // Each contender makes a call for each writer.
        assert_eq!(cell.proof_calls, 6 * u64::from(writers));
    }
}

type WriteList = fn(BorrowedFd<'_>, &[u8]) -> io::Result<()>;

/// A mover that writes each list by the function.
struct Wrong(WriteList);

impl Mover for Wrong {
    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        (self.0)(fd, &segments.concat())
    }
}

fn write(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<()> {
    rustix::io::write(fd, bytes)?;
    Ok(())
}

/// Ways to write a list wrongly.
const WRONG: [WriteList; 7] = [
    |fd, bytes| {
        write(fd, &bytes[20..])?;
        write(fd, &bytes[..20])
    },
    |_, _| Ok(()),
    |fd, bytes| {
        write(fd, bytes)?;
        write(fd, bytes)
    },
    |fd, bytes| {
        let twice = [bytes, bytes].concat();
        let mut rest = &twice[..];
        while !rest.is_empty() {
            rest = &rest[rustix::io::write(fd, rest)?..];
        }
        Ok(())
    },
    |_, _| Err(io::ErrorKind::StorageFull.into()),
    |_, _| panic!("a panic on purpose"),
    |fd, bytes| {
        let mut bytes = bytes.to_vec();
        bytes[7] ^= 1;
        write(fd, &bytes)
    },
];

/// The movers of the floor, and techniques that write as `WRONG[WAY]` does.
fn wrong<const WAY: usize>(contender: Contender, model: &CostModel) -> Box<dyn Mover> {
    match contender {
        Contender::Technique(_) => Box::new(Wrong(WRONG[WAY])),
        floor => movers(floor, model),
    }
}

/// The message of the error of a cell with these movers.
fn message_of(cell: CellSpec, make_mover: WriterMovers) -> String {
    let failed = measure(vec![cell], &[TechniqueName::WRITEV], make_mover).unwrap_err();
    failed.error.to_string()
}

#[test]
fn what_writers_do_wrong_is_an_error_that_blocks_nobody() {
    let (file, pipe, unix) = (Target::File, Target::Pipe, Target::Unix);
    for (make, target, bytes, count, words) in [
        (
            wrong::<0> as WriterMovers,
            file,
            100,
            1,
            "differs in call 0",
        ),
        (wrong::<0>, unix, 100, 2, "differs in call 0"),
        (
            wrong::<1>,
            file,
            100,
            2,
            "0 bytes arrived, but 400 were sent",
        ),
        (
            wrong::<2>,
            file,
            100,
            2,
            "800 bytes arrived, but 400 were sent",
        ),
        (wrong::<6>, file, 100, 2, "bytes of value"),
        (
            wrong::<3>,
            pipe,
            200_000,
            2,
            "1600000 bytes arrived, but 800000 were sent",
        ),
        (wrong::<4>, file, 100, 3, "writev failed on"),
        (wrong::<4>, pipe, 100, 3, "writev failed on"),
        (wrong::<5>, pipe, 100, 3, "ended unexpectedly"),
    ] {
        let cell = with_writers(target, Workload::uniform(2, bytes), count);
        let message = message_of(cell, make);
        assert!(message.contains(words), "{words}: {message}");
    }
}

#[test]
fn each_writer_has_a_connection_to_another_program_whose_bytes_are_unknown() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, ended) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, sender) = (stream.unwrap(), sender.clone());
            std::thread::spawn(move || sender.send(io::copy(&mut stream, &mut io::sink())));
        }
    });
    let cell = with_writers(Target::Remote, Workload::uniform(2, 100), 3)
        .with(|asked| asked.path = Some(format!("tcp://{address}")));
    let outcome = measure(vec![cell], &[TechniqueName::WRITEV], movers).unwrap();
    let cell = &outcome.cells[0];
    assert_eq!((cell.drain, cell.proof_calls), (Some(Drain::Peer), 0));
    let figures = cell.techniques[0].writers.as_ref().unwrap();
    assert_eq!(figures.writer_median_ns.len(), 3);
    // Each visit of the cell has three new connections.
    for bytes in ended.iter().take(3) {
        assert!(bytes.unwrap() > 0);
    }
}
