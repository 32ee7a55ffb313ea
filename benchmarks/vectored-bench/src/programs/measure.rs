//! Samples all techniques of all cases, round by round.

use std::io;
use std::time::{Duration, Instant};

use vectored_results::stats::median;

use crate::programs::case::{Case, Contender, Program, Role, VERIFIED_REQUESTS};
use crate::programs::catalogue::cases;
use crate::programs::deliver::difference;
use crate::programs::harness::Harness;
use crate::programs::options::Options;
use crate::programs::policies::Policies;

/// The samples of a case.
#[derive(Clone, Debug)]
pub struct CaseSamples {
    /// The case.
    pub case: Case,
    /// The techniques of the case.
    pub techniques: Vec<TechniqueSamples>,
}

/// The samples of a technique.
#[derive(Clone, Debug)]
pub struct TechniqueSamples {
    /// The name of the technique.
    pub technique: &'static str,
    /// Its part in the comparison.
    pub role: Role,
    /// CPU time per request in each round, in ns.
    pub cpu_ns: Vec<f64>,
}

/// Slices of each technique in a round. Other work on the machine disturbs some slices, so the result of a round is their
/// median.
const PASSES: usize = 5;

/// The most requests of a slice.
const MAX_REQUESTS: usize = 1 << 20;

/// Compares the bytes of all techniques, and samples them in turns.
///
/// Rounds are the outer loop, so a short disturbance affects a few rounds of all cases, not all rounds of a few
/// cases. Every round opens new connections and files: the kernel tunes the buffers of each connection, which
/// changes the time by more than some techniques do. Within a round the techniques of a case take turns:
/// `PASSES` short slices of each, each time in another random order.
///
/// # Errors
///
/// If a program fails or delivers other bytes. The message names the case and the technique.
pub fn measure(options: &Options, mut note: impl FnMut(&str)) -> io::Result<Vec<CaseSamples>> {
    let policies = Policies::of(options.policy, &options.directory)?;
    note(&policies.in_words());
    let harness = Harness::new(&options.directory, policies)?;
    let chosen = cases(
        &options.programs,
        options.sizes.as_deref(),
        options.counts.as_deref(),
    );
    let slice = Duration::from_millis(options.slice_ms);
    let began = Instant::now();
    let mut plans = Vec::new();
    for (program, case) in chosen {
        plans.push(Plan::new(&harness, program, case, slice)?);
    }
    note(&format!(
        "{} cases; all techniques of each delivered the same bytes ({:.0} s)",
        plans.len(),
        began.elapsed().as_secs_f64()
    ));
    let mut random = fastrand::Rng::with_seed(options.seed);
    for round in 1..=options.rounds {
        for plan in &mut plans {
            plan.take_round(&harness, &mut random)?;
        }
        note(&format!(
            "round {round} of {} ({:.0} s)",
            options.rounds,
            began.elapsed().as_secs_f64()
        ));
    }
    Ok(plans.into_iter().map(|plan| plan.samples).collect())
}

/// A case, and the requests of its slices.
struct Plan {
    program: Program,
    requests: usize,
    samples: CaseSamples,
}

impl Plan {
    fn new(harness: &Harness, program: Program, case: Case, slice: Duration) -> io::Result<Plan> {
        let mut contenders = open(harness, &program, &case)?;
        let first = &mut contenders[0];
        let requests = requests_of_a_slice(first, slice);
        let requests = requests.map_err(|error| named(&case, first.technique, &error))?;
        let techniques = contenders.iter().map(|one| TechniqueSamples {
            technique: one.technique,
            role: one.role,
            cpu_ns: Vec::new(),
        });
        Ok(Plan {
            program,
            requests,
            samples: CaseSamples {
                case,
                techniques: techniques.collect(),
            },
        })
    }

    fn take_round(&mut self, harness: &Harness, random: &mut fastrand::Rng) -> io::Result<()> {
        let case = self.samples.case;
        let mut contenders = open(harness, &self.program, &case)?;
        let mut slice = |index: usize| {
            let one: &mut Contender = &mut contenders[index];
            let cpu_ns = one.session.slice(self.requests);
            let cpu_ns = cpu_ns.map_err(|error| named(&case, one.technique, &error))?;
            // A coarse clock may show 0 ns for very few requests, and the logarithm of the figure is taken later.
            Ok::<_, io::Error>(cpu_ns.max(1) as f64 / self.requests as f64)
        };
        let mut turns: Vec<usize> = (0..self.samples.techniques.len()).collect();
        let mut passes = vec![Vec::with_capacity(PASSES); turns.len()];
        // The first pass does not count: memory and connections grow in it.
        for pass in 0..=PASSES {
            random.shuffle(&mut turns);
            for &index in &turns {
                let cpu_ns = slice(index)?;
                if pass > 0 {
                    passes[index].push(cpu_ns);
                }
            }
        }
        for (technique, passes) in std::iter::zip(&mut self.samples.techniques, passes) {
            let of_round = median(&passes).expect("a round has passes");
            technique.cpu_ns.push(of_round);
        }
        Ok(())
    }
}

/// Opens a session for each technique, and compares what they deliver.
fn open(harness: &Harness, program: &Program, case: &Case) -> io::Result<Vec<Contender>> {
    let contenders = (program.open)(harness, case);
    let mut contenders = contenders.map_err(|error| named(case, "open", &error))?;
    for one in &mut contenders.all {
        let delivered = one.session.deliver(VERIFIED_REQUESTS);
        let delivered = delivered.map_err(|error| named(case, one.technique, &error))?;
        if let Some(difference) = difference(&contenders.expected, &delivered) {
            let error = io::Error::other(difference);
            return Err(named(case, one.technique, &error));
        }
    }
    Ok(contenders.all)
}

/// The number of requests that take about `slice`.
fn requests_of_a_slice(contender: &mut Contender, slice: Duration) -> io::Result<usize> {
    let mut requests = 1;
    loop {
        let began = Instant::now();
        contender.session.slice(requests)?;
        let took = began.elapsed();
        if took >= slice / 4 || requests >= MAX_REQUESTS {
            let scale = slice.as_secs_f64() / took.as_secs_f64().max(1e-9);
            return Ok(((requests as f64 * scale) as usize).clamp(1, MAX_REQUESTS));
        }
        requests *= 2;
    }
}

fn named(case: &Case, technique: &str, error: &io::Error) -> io::Error {
    let message = format!("{} {case}, {technique}: {error}", case.program);
    io::Error::new(error.kind(), message)
}
