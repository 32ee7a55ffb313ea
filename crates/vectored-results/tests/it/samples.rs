//! Fixed results, and how they are shown.

use vectored_machine::model::{CpuInfo, DirectoryInfo, Host};
use vectored_report::{Block, Document, TerminalOptions, csv_of, terminal};
use vectored_results::model::{
    Cell, Conditions, Crossover, DirectIo, Drain, LeftOut, OpenBecause, Rank, RankFigures, Results,
    SCHEMA, SweptMix, Target, TechniqueName, TechniqueResult, Verdict,
};
use vectored_results::report::measured;

/// The techniques for writing that are ranked by default.
pub const WRITES: [TechniqueName; 3] = [
    TechniqueName::WRITE_EACH,
    TechniqueName::COPY_THEN_WRITE,
    TechniqueName::WRITEV,
];

/// A whole document on a terminal without colours.
pub fn text(document: &Document, width: usize) -> String {
    let options = TerminalOptions {
        width,
        color: false,
        details: true,
    };
    terminal(document, &options)
}

/// A whole run on a terminal of this width.
pub fn table(results: &Results, width: usize) -> String {
    text(&measured(results), width)
}

/// The sentences of a run that have a subject, each after its subject.
pub fn sentences(results: &Results) -> Vec<String> {
    let document = measured(results);
    let sections = document.sections.iter().flat_map(|section| &section.blocks);
    let blocks = document.answer.iter().chain(sections);
    let said = blocks.filter_map(|block| match block {
        Block::Sentence(one) if !one.subject.to_string().is_empty() => {
            Some(format!("{}: {}", one.subject, one.text))
        }
        _ => None,
    });
    said.collect()
}

pub fn markdown(results: &Results) -> String {
    vectored_report::markdown(&measured(results))
}

/// A run as a page.
pub fn html(results: &Results) -> String {
    vectored_report::html(&[measured(results)])
}

pub fn csv(results: &Results) -> String {
    csv_of(&[results])
}

/// A technique with its gather tax, and its ratio to the leader with the interval of the ratio.
pub fn technique(
    name: TechniqueName,
    tax: f64,
    ratio: f64,
    interval: Option<(f64, f64)>,
) -> TechniqueResult {
    TechniqueResult {
        name,
        contender: ratio < 4.0,
        calls_per_sample: 64,
        median_ns: 1000.0 * (1.0 + tax),
        min_ns: 900.0,
        cpu_median_ns: 1000.0,
        gather_tax: tax,
        ratio_to_leader: ratio,
        ratio_low: interval.map(|(low, _)| low),
        ratio_high: interval.map(|(_, high)| high),
        floor_ratio: Some(1.0 + tax),
        floor_ratio_low: interval.map(|_| 0.98 * (1.0 + tax)),
        floor_ratio_high: interval.map(|_| 1.02 * (1.0 + tax)),
        samples_ns: vec![Some(1000.0), None],
        ..TechniqueResult::default()
    }
}

pub fn cell(
    target: Target,
    bytes: usize,
    verdict: Verdict,
    techniques: Vec<TechniqueResult>,
) -> Cell {
    let leader = techniques
        .iter()
        .filter(|technique| technique.name != TechniqueName::ADAPTIVE)
        .min_by(|a, b| a.median_ns.total_cmp(&b.median_ns))
        .map(|technique| technique.name);
    Cell {
        conditions: Conditions::write(target),
        segment_count: 1000,
        segment_bytes: Some(bytes),
        rounds: 40,
        floor_ns: 1000.0,
        floor_samples_ns: vec![1000.0, 1000.0],
        aa_samples_ns: vec![Some(1000.0), Some(1010.0)],
        verdict,
        winner: leader.filter(|_| verdict == Verdict::Faster),
        leader,
        noise_floor: Some(0.011),
        proof_calls: 12,
        techniques,
        ..Cell::default()
    }
}

/// A run in which everything occurs that the renderings tell apart.
pub fn results() -> Results {
    /// A tax, a ratio to the leader and the interval of the ratio.
    type Figures = (f64, f64, Option<(f64, f64)>);
    /// The techniques of a cell.
    fn four(figures: [Figures; 4]) -> Vec<TechniqueResult> {
        let names = [
            TechniqueName::WRITE_EACH,
            TechniqueName::COPY_THEN_WRITE,
            TechniqueName::WRITEV,
            TechniqueName::ADAPTIVE,
        ];
        let all = std::iter::zip(names, figures);
        all.map(|(name, (tax, ratio, interval))| technique(name, tax, ratio, interval))
            .collect()
    }
    let techniques = four([
        (85.0, 76.0, Some((75.0, 77.0))),
        (0.13, 1.0, Some((1.0, 1.0))),
        (0.232, 1.09, Some((1.07, 1.11))),
        (0.126, 0.997, Some((0.99, 1.002))),
    ]);
    let faster = cell(Target::File, 16, Verdict::Faster, techniques);
    let techniques = four([
        (4.2, 4.6, Some((4.5, 4.7))),
        (0.12, 1.0, Some((1.0, 1.0))),
        (0.125, 1.004, Some((0.998, 1.012))),
        (0.125, 1.004, Some((0.998, 1.012))),
    ]);
    let tie = cell(Target::File, 1000, Verdict::Tie, techniques);
    let techniques = four([
        (0.5, 1.48, Some((1.2, 1.6))),
        (0.04, 1.03, Some((0.988, 1.08))),
        (-0.003, 1.0, Some((1.0, 1.0))),
        (0.0, 1.002, Some((0.97, 1.04))),
    ]);
    let open = Cell {
        open_because: Some(OpenBecause::Budget),
        drain: Some(Drain::ReaderThread),
        floor_ns: 2_340_000.0,
        ..cell(Target::Pipe, 4096, Verdict::Open, techniques)
    };
    let techniques = four([
        (4.2, 4.6, Some((4.5, 4.7))),
        (0.13, 1.01, Some((0.995, 1.031))),
        (0.12, 1.0, Some((1.0, 1.0))),
        (0.125, 1.004, Some((0.998, 1.012))),
    ]);
    let close = Cell {
        open_because: Some(OpenBecause::Budget),
        choice: Some(TechniqueName::COPY_THEN_WRITE),
        at_most: Some(0.031),
        ..cell(Target::File, 4096, Verdict::Close, techniques)
    };
    let techniques = four([
        (3.0, 3.9, None),
        (0.02, 1.0, None),
        (0.2, 1.2, None),
        (0.01, 0.99, None),
    ]);
    let mixed = Cell {
        segment_count: 10,
        segment_bytes: None,
        segment_sizes: Some(vec![(9, 16), (1, 4096)]),
        rounds: 3,
        noise_floor: None,
        open_because: Some(OpenBecause::Rounds),
        ..cell(Target::Pipe, 0, Verdict::Open, techniques)
    };
    Results {
        schema: SCHEMA.to_owned(),
        complete: false,
        vectored_version: "0.0.0".to_owned(),
        started_at: "2000-01-01T00:00:00Z".to_owned(),
        elapsed_s: 15.94,
        budget_s: 16.0,
        seed: 42,
        rivals: WRITES.to_vec(),
        host: Host {
            name: "stand".to_owned(),
            system: "Linux x86_64".to_owned(),
            kernel: "6.18.0 #1 SMP".to_owned(),
            cpu: CpuInfo {
                model: "Some Processor 3".to_owned(),
                allowed_cpus: vec![0, 1],
                ..CpuInfo::default()
            },
            memory_bytes: 8_400_000_000,
            virtualization: Some("virtual machine".to_owned()),
            directory: Some(DirectoryInfo {
                path: "/srv/data".to_owned(),
                file_system: "ext4".to_owned(),
                ..DirectoryInfo::default()
            }),
            warnings: vec!["the machine is busy".to_owned()],
            ..Host::default()
        },
        cells: vec![faster, tie, close, open, mixed],
        left_out: [Target::File, Target::Pipe]
            .map(|target| LeftOut {
                conditions: Conditions::write(target),
                segment_sizes: vec![(1000, 16384)],
                reason: "more than 4 MiB in one call".to_owned(),
            })
            .into(),
        ..Results::default()
    }
}

/// The results of the tables, and a series of sizes with a crossover.
pub fn with_curves() -> Results {
    let mut all = results();
    for (bytes, copying, gathering) in [(64, 0.05, 0.4), (1024, 0.1, 0.2), (4096, 0.5, 0.1)] {
        let ratio =
            f64::max(copying + 1.0, gathering + 1.0) / f64::min(copying + 1.0, gathering + 1.0);
        let (copy, gather) = if copying < gathering {
            (
                (1.0, Some((1.0, 1.0))),
                (ratio, Some((ratio - 0.01, ratio + 0.01))),
            )
        } else {
            (
                (ratio, Some((ratio - 0.01, ratio + 0.01))),
                (1.0, Some((1.0, 1.0))),
            )
        };
        let mut cell = cell(
            Target::Unix,
            bytes,
            Verdict::Faster,
            vec![
                technique(TechniqueName::WRITE_EACH, 5.0, 5.5, Some((5.4, 5.6))),
                technique(TechniqueName::COPY_THEN_WRITE, copying, copy.0, copy.1),
                technique(TechniqueName::WRITEV, gathering, gather.0, gather.1),
                technique(TechniqueName::ADAPTIVE, 0.1, 1.0, Some((1.0, 1.0))),
            ],
        );
        cell.segment_count = 16;
        all.cells.push(cell);
    }
    let conditions = all.cells[all.cells.len() - 1].conditions.clone();
    all.crossovers.push(Crossover {
        conditions,
        segment_count: 16,
        swept_mix: None,
        below: TechniqueName::COPY_THEN_WRITE,
        above: TechniqueName::WRITEV,
        at_bytes: 1400.0,
        low_bytes: 1300.0,
        high_bytes: 1600.0,
        tie_low_bytes: 1380.0,
        tie_high_bytes: 1420.0,
    });
    all
}

/// A run in which every field that may be left out is there.
pub fn with_every_field() -> Results {
    let mut all = with_curves();
    let cell = &mut all.cells[0];
    cell.conditions.queue_depth = 8;
    cell.conditions.ranks = Some(2);
    cell.techniques[0].ranks = Some(RankFigures {
        rank_median_ns: vec![100.0, 150.0],
        rank_min_ns: vec![90.0, 140.0],
        rank_last_share: vec![0.25, 0.75],
        calls_per_s: 1e6,
        bytes_per_s: 1e9,
        stragglers: vec![1],
    });
    all.ranks = vec![Rank::default(), Rank::default()];
    all.cells[1].alignment = Some(DirectIo {
        memory_bytes: 4,
        offset_bytes: 512,
    });
    all.cells[4].swept_mix = SweptMix::try_from(vec![(9, None), (1, Some(4096))]).ok();
    all
}
