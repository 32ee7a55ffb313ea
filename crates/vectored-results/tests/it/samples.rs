//! Fixed results, and how they are shown.

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

/// The usual techniques: for each technique its tax, its ratio to the leader and, if known, the interval of this ratio.
fn four(figures: &str) -> Vec<TechniqueResult> {
    let names = WRITES.into_iter().chain([TechniqueName::ADAPTIVE]);
    let of = |(name, figures): (TechniqueName, &str)| {
        let numbers = figures.split(' ').map(|word| word.parse().unwrap());
        match numbers.collect::<Vec<f64>>()[..] {
            [tax, ratio, low, high] => technique(name, tax, ratio, Some((low, high))),
            [tax, ratio] => technique(name, tax, ratio, None),
            _ => panic!("{figures}"),
        }
    };
    std::iter::zip(names, figures.split(", ")).map(of).collect()
}

const HOST: &str = r#"{"name":"stand","system":"Linux x86_64","kernel":"6.18.0 #1 SMP","cpu":{"model":"Some Processor 3",
"allowed_cpus":[0,1],"mitigations":[]},"memory_bytes":8400000000,"virtualization":"virtual machine","iov_max":0,
"directory":{"path":"/srv/data","file_system":"ext4","free_bytes":0,"st_blksize":0},"warnings":["the machine is busy"]}"#;

/// A run in which everything occurs that the renderings tell apart.
pub fn results() -> Results {
    let figures = "85 76 75 77, 0.13 1 1 1, 0.232 1.09 1.07 1.11, 0.126 0.997 0.99 1.002";
    let faster = cell(Target::File, 16, Verdict::Faster, four(figures));
    let figures = "4.2 4.6 4.5 4.7, 0.12 1 1 1, 0.125 1.004 0.998 1.012, 0.125 1.004 0.998 1.012";
    let tie = cell(Target::File, 1000, Verdict::Tie, four(figures));
    let figures = "0.5 1.48 1.2 1.6, 0.04 1.03 0.988 1.08, -0.003 1 1 1, 0 1.002 0.97 1.04";
    let open = Cell {
        open_because: Some(OpenBecause::Budget),
        drain: Some(Drain::ReaderThread),
        floor_ns: 2_340_000.0,
        ..cell(Target::Pipe, 4096, Verdict::Open, four(figures))
    };
    let figures = "4.2 4.6 4.5 4.7, 0.13 1.01 0.995 1.031, 0.12 1 1 1, 0.125 1.004 0.998 1.012";
    let close = Cell {
        open_because: Some(OpenBecause::Budget),
        choice: Some(TechniqueName::COPY_THEN_WRITE),
        at_most: Some(0.031),
        ..cell(Target::File, 4096, Verdict::Close, four(figures))
    };
    let mixed = Cell {
        segment_count: 10,
        segment_bytes: None,
        segment_sizes: Some(vec![(9, 16), (1, 4096)]),
        rounds: 3,
        noise_floor: None,
        open_because: Some(OpenBecause::Rounds),
        ..cell(
            Target::Pipe,
            0,
            Verdict::Open,
            four("3 3.9, 0.02 1, 0.2 1.2, 0.01 0.99"),
        )
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
        host: serde_json::from_str(HOST).unwrap(),
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
    for (bytes, figures) in [
        (64, "0.05 1 1 1, 0.4 1.333 1.323 1.343"),
        (1024, "0.1 1 1 1, 0.2 1.091 1.081 1.101"),
        (4096, "0.5 1.364 1.354 1.374, 0.1 1 1 1"),
    ] {
        let techniques = four(&format!("5 5.5 5.4 5.6, {figures}, 0.1 1 1 1"));
        all.cells.push(Cell {
            segment_count: 16,
            ..cell(Target::Unix, bytes, Verdict::Faster, techniques)
        });
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
