//! Cells in every state but the default one: cold or adjacent bytes, synced calls, arrays that are filled once.

use super::*;

/// The targets without a path on which every byte is compared.
const PROVED: [Target; 5] = [
    Target::File,
    Target::FileOverwrite,
    Target::Pipe,
    Target::Unix,
    Target::Tcp,
];

/// A cell in the default state, and in every other one.
fn all_states(target: Target, workload: &Workload) -> impl Iterator<Item = CellSpec> {
    let usual = CellSpec::write(target, workload.clone());
    std::iter::once(usual).chain(states(target, workload))
}

/// Cells in every state but the default one.
fn states(target: Target, workload: &Workload) -> [CellSpec; 4] {
    let usual = || CellSpec::write(target, workload.clone());
    [
        usual().with(|asked| asked.cache = Cache::Cold),
        usual().with(|asked| asked.layout = Layout::Adjacent),
        usual().with(|asked| asked.iovec_setup = IovecSetup::Once),
        usual().with(|asked| {
            asked.cache = Cache::Cold;
            asked.layout = Layout::Adjacent;
            asked.iovec_setup = IovecSetup::Once;
        }),
    ]
}

/// A pool smaller than the caches: these tests check bytes, not times.
const SMALL_POOL_BYTES: u64 = 1 << 20;

fn measure_spec(
    budget_ns: u64,
    spec: CellSpec,
    rivals: &[TechniqueName],
    make_mover: impl FnMut(Contender, &CostModel) -> Box<dyn Mover> + 'static,
) -> Result<Outcome, RunError> {
    measure_here(&experiment(vec![spec], rivals, budget_ns), |sampler| {
        let sampler = sampler.cold_pool_bytes(SMALL_POOL_BYTES);
        sampler.with_movers(make_mover)
    })
}

/// A run in which `wrong` replaces `technique`.
fn replaced<M: Mover + 'static>(
    spec: &CellSpec,
    technique: TechniqueName,
    wrong: impl Fn() -> M + 'static,
) -> Result<Outcome, RunError> {
    let rivals = match technique {
        TechniqueName::WRITEV => vec![TechniqueName::COPY_THEN_WRITE, TechniqueName::WRITEV],
        other => vec![TechniqueName::WRITEV, other],
    };
    // Enough for each fault to occur. Its detection ends the run.
    let budget_ns = 10_000_000_000;
    measure_spec(
        budget_ns,
        spec.clone(),
        &rivals,
        move |contender, model| match contender {
            Contender::Technique(name) if name == technique => Box::new(wrong()),
            _ => movers(contender, model),
        },
    )
}

#[test]
fn every_fault_is_caught_in_every_state() {
    for target in PROVED {
        for spec in all_states(target, &Workload::from_sizes(vec![100, 300, 100, 40, 7])) {
            for fault in FAULTS {
                let outcome = replaced(&spec, TechniqueName::WRITEV, move || Faulty::new(fault));
                assert_caught(
                    outcome,
                    TechniqueName::WRITEV,
                    &format!("{fault:?} {spec:?}"),
                );
            }
        }
    }
}

#[test]
fn faults_in_cold_bytes_are_caught_by_the_reader_thread_too() {
    let [cold, ..] = states(Target::Pipe, &Workload::uniform(5, 40_000));
    for fault in [Fault::ByteChanged, Fault::SegmentDropped, Fault::Surplus] {
        let outcome = replaced(&cold, TechniqueName::WRITEV, move || Faulty::new(fault));
        assert_caught(outcome, TechniqueName::WRITEV, &format!("{fault:?}"));
    }
}

#[test]
fn every_fault_is_caught_in_place_of_each_opt_in_technique() {
    for target in PROVED {
        for technique in techniques(Operation::Write, false) {
            if target_refusal(technique, target).is_some() {
                continue;
            }
            for fault in [Fault::ByteDropped, Fault::SegmentDoubled, Fault::OnlyLater] {
                let spec = CellSpec::write(target, Workload::uniform(5, 100));
                let outcome = replaced(&spec, technique, move || Faulty::new(fault));
                assert_caught(outcome, technique, &format!("{fault:?} on {target}"));
            }
        }
    }
}

/// A mover that sends the bytes of the first call of a sample in all its calls.
#[derive(Default)]
struct SameAgain {
    first: Vec<u8>,
}

impl Mover for SameAgain {
    fn prepare(&mut self, _segments: &[&[u8]], _start_bytes: usize) {
        self.first.clear();
    }

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        if self.first.is_empty() {
            self.first = segments.concat();
        }
        rustix::io::write(fd, &self.first)?;
        Ok(())
    }
}

#[test]
fn cold_calls_that_send_the_segments_of_another_are_caught() {
    for target in PROVED {
        let [cold, adjacent, ..] = states(target, &Workload::uniform(5, 100));
        let outcome = replaced(&cold, TechniqueName::WRITEV, SameAgain::default);
        assert_caught(outcome, TechniqueName::WRITEV, "cold");
        // If all calls send the same segments, the technique is correct.
        let rivals = [TechniqueName::COPY_THEN_WRITE, TechniqueName::WRITEV];
        let make = |contender: Contender, model: &CostModel| -> Box<dyn Mover> {
            match contender {
                Contender::Technique(TechniqueName::WRITEV) => Box::<SameAgain>::default(),
                _ => movers(contender, model),
            }
        };
        measure_spec(MINIMUM_NS, adjacent, &rivals, make).unwrap();
    }
}

/// A mover that builds its lists in the first sample and reuses them in later ones.
#[derive(Default)]
struct SetUpOnceForAll {
    lists: Vec<Vec<u8>>,
}

impl Mover for SetUpOnceForAll {
    fn prepare(&mut self, _segments: &[&[u8]], _start_bytes: usize) {}

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        rustix::io::write(fd, &segments.concat())?;
        Ok(())
    }

    fn sample(
        &mut self,
        fd: BorrowedFd<'_>,
        lists: &Lists<'_>,
        batch: Timed,
        meter: Meter<'_>,
    ) -> io::Result<Timing> {
        let began_ns = meter.clock.now_ns();
        if self.lists.is_empty() {
            let mut turns = lists.in_turn();
            let calls = 0..batch.all_calls();
            self.lists = calls.map(|_| turns.next().concat()).collect();
        }
        for list in self.lists.iter().cycle().take(batch.all_calls() as usize) {
            rustix::io::write(fd, list)?;
        }
        Ok(Timing {
            elapsed_ns: meter.clock.now_ns() - began_ns,
            cpu_ns: 0,
        })
    }
}

#[test]
fn an_array_that_outlives_its_sample_is_caught() {
    for target in PROVED {
        let [.., once, all] = states(target, &Workload::uniform(5, 100));
        for spec in [once, all] {
            let outcome = replaced(&spec, TechniqueName::WRITEV, SetUpOnceForAll::default);
            assert_caught(outcome, TechniqueName::WRITEV, &format!("{spec:?}"));
        }
    }
}

#[test]
fn right_techniques_are_measured_in_every_state() {
    for target in Target::NAMED {
        for sizes in [
            vec![100, 200],
            vec![16; 9],
            vec![3, 5000, 1, 70_000, 9],
            vec![8; 2500],
        ] {
            for spec in all_states(target, &Workload::from_sizes(sizes)) {
                let outcome = measure_spec(MINIMUM_NS, spec.clone(), &WRITES, movers).unwrap();
                let cell = &outcome.cells[0];
                assert_eq!(cell.conditions.cache, spec.conditions.cache);
                assert_eq!(cell.conditions.layout, spec.conditions.layout);
                assert_eq!(cell.conditions.iovec_setup, spec.conditions.iovec_setup);
                assert!(cell.floor_ns > 0.0 && cell.rounds >= 1);
                assert_eq!(cell.proof_calls > 0, target != Target::Null, "{target}");
                assert_eq!(cell.span_bytes.is_some(), target.is_file());
                assert_eq!(cell.file_system.is_some(), target.is_file());
            }
        }
    }
}

#[test]
fn opt_in_techniques_are_measured_on_the_targets_they_work_on() {
    let opt_in = techniques(Operation::Write, false);
    let rivals = [&[TechniqueName::WRITEV], &opt_in[..]].concat();
    for target in Target::NAMED {
        // The last does not fit a pipe, so a thread reads.
        for sizes in [
            vec![100, 200],
            vec![3, 5000, 1, 70_000, 9],
            vec![8; 2500],
            vec![1 << 14; 40],
        ] {
            let workload = Workload::from_sizes(sizes);
            let usual = CellSpec::write(target, workload.clone());
            let [cold, .., all] = states(target, &workload);
            for spec in [usual, cold, all] {
                let outcome = measure_spec(MINIMUM_NS, spec.clone(), &rivals, movers).unwrap();
                let cell = &outcome.cells[0];
                for &technique in &opt_in {
                    let works = refusal(technique, &spec.conditions).is_none();
                    let measured = cell.technique(technique).is_some();
                    assert_eq!(measured, works, "{technique} on {target}");
                }
                assert!(cell.techniques.iter().all(|t| t.median_ns > 0.0));
            }
        }
    }
}

#[test]
fn opt_in_techniques_are_measured_in_every_state_on_a_fifo() {
    let fifo = Fifo::make("states");
    let rivals = [
        &[
            TechniqueName::WRITEV,
            TechniqueName::new("pwritev2"),
            TechniqueName::new("stdio"),
        ],
        &["io-uring", "linux-aio"].map(TechniqueName::new)[..],
    ]
    .concat();
    // The larger lists do not fit, so a thread reads.
    for bytes in [64, 40_000] {
        for state in states(Target::Fifo, &Workload::uniform(3, bytes)) {
            let spec = state.with(|asked| asked.path = fifo.0.to_str().map(str::to_owned));
            let outcome = measure_spec(MINIMUM_NS, spec, &rivals, movers).unwrap();
            assert!(outcome.cells[0].proof_calls > 0);
        }
    }
}

#[test]
fn opt_in_techniques_are_measured_with_the_sync_modes_that_reach_them() {
    let rivals = [
        "writev",
        "pwritev2",
        "stdio",
        "io-uring",
        "linux-aio",
        "mmap",
    ];
    for target in [Target::File, Target::FileOverwrite] {
        for sync in [SyncMode::Dsync, SyncMode::Sync, SyncMode::Fsync] {
            let [cold, ..] = states(target, &Workload::uniform(3, 64));
            let spec = cold.with(|asked| asked.sync = sync);
            let outcome = measure_spec(MINIMUM_NS, spec, &rivals.map(TechniqueName::new), movers);
            let outcome = outcome.unwrap();
            let cell = &outcome.cells[0];
            assert_eq!(cell.conditions.sync, sync);
            assert!(cell.proof_calls > 0);
            for rival in rivals {
                let reaches = match rival {
                    // An fsync would wait for every transfer in flight.
                    "io-uring" | "linux-aio" => sync != SyncMode::Fsync,
                    // O_DSYNC and O_SYNC have no effect on a mapping.
                    "mmap" => sync == SyncMode::Fsync,
                    _ => true,
                };
                let is_measured = cell.technique(TechniqueName::new(rival)).is_some();
                assert_eq!(is_measured, reaches, "{rival} with --sync {sync}");
            }
        }
    }
}

/// The address that was sent in each call, by visits to the cell.
type Places = Rc<RefCell<Vec<Vec<usize>>>>;

struct PlacesSeen {
    inner: Box<dyn Mover>,
    places: Places,
}

impl Mover for PlacesSeen {
    fn prepare(&mut self, segments: &[&[u8]], start_bytes: usize) {
        self.inner.prepare(segments, start_bytes);
    }

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        let place = segments[0].as_ptr().addr();
        self.places.borrow_mut().last_mut().unwrap().push(place);
        self.inner.call(fd, segments)
    }
}

/// The addresses that a run with this budget sent, by visits, and its rounds; of the floor's calls, or else of the
/// techniques'.
fn places_of_a_run(budget_ns: u64, of_floor: bool) -> (usize, Vec<Vec<usize>>) {
    let places = Places::default();
    let shared = Rc::clone(&places);
    let [_, _, _, spec] = states(Target::File, &Workload::uniform(4, 4096));
    let rivals = [TechniqueName::COPY_THEN_WRITE, TechniqueName::WRITEV];
    let outcome = measure_spec(budget_ns, spec, &rivals, move |contender, model| {
        let inner = movers(contender, model);
        let places = Rc::clone(&shared);
        if contender == Contender::Floor {
            // A visit begins, and the caches are swept for it.
            places.borrow_mut().push(Vec::new());
        }
        let watched = match contender {
            Contender::Floor | Contender::FloorAgain => of_floor,
            Contender::Technique(_) => !of_floor,
        };
        if watched { Box::new(PlacesSeen { inner, places }) } else { inner }
    });
    (outcome.unwrap().cells[0].rounds as usize, places.take())
}

#[test]
fn cold_calls_reuse_a_slot_only_after_the_whole_pool() {
    let slots = SMALL_POOL_BYTES as usize / (4 * 4096);
    for of_floor in [false, true] {
        let mut budget_ns = 50_000_000;
        // A busy machine needs a larger budget for as many calls.
        let visits = loop {
            let (rounds, visits) = places_of_a_run(budget_ns, of_floor);
            if rounds > 1 && visits.iter().map(Vec::len).max() > Some(2 * slots) {
                break visits;
            }
            budget_ns *= 4;
            assert!(budget_ns < 60_000_000_000, "too few calls: {rounds} rounds");
        };
        for visit in &visits {
            // Rounds move all slots by less than a cache line.
            let lines: Vec<usize> = visit.iter().map(|place| place / 64).collect();
            for window in lines.windows(slots) {
                let distinct: BTreeSet<&usize> = window.iter().collect();
                assert_eq!(distinct.len(), slots, "floor: {of_floor}");
            }
        }
    }
}
