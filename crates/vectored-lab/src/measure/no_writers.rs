//! Several writers, which are not built for Windows: their files have `O_APPEND`, and their processes share descriptors.

pub(crate) mod cell {
    use std::convert::Infallible;
    use std::path::Path;

    use vectored::CostModel;

    use super::writer::WriterMovers;
    use crate::measure::sampling::sampler::{CellSetup, Contender, MeasureError, Timing};
    use crate::model::{CellSpec, Technique, Writers};
    use crate::platform::lacks;
    use crate::stats::WriterSamples;

    /// What a cell is opened with.
    #[expect(dead_code, reason = "no cell is opened")]
    pub(crate) struct WritersOpening<'s> {
        pub spec: &'s CellSpec,
        pub writers: Writers,
        pub directory: &'s Path,
        pub reader_cpu: Option<usize>,
        pub cpus: &'s [usize],
        pub program: Option<&'s Path>,
        pub model: CostModel,
        pub make_mover: WriterMovers,
        pub seed: u64,
    }

    /// There is no value of this type.
    pub(crate) struct WritersCell {
        never: Infallible,
        pub round: u32,
        pub proof_calls: u64,
    }

    impl WritersCell {
        /// Refuses.
        pub fn open(opening: WritersOpening<'_>) -> Result<(Self, CellSetup), MeasureError> {
            let what = format!("cannot open {}", opening.spec.place());
            Err(MeasureError::io(what)(lacks("targets of several writers")))
        }

        pub fn sample(&mut self, _: Contender, _calls: u32) -> Result<Timing, MeasureError> {
            match self.never {}
        }

        pub fn take_samples(&mut self) -> Vec<(Technique, WriterSamples)> {
            match self.never {}
        }
    }
}

pub(crate) mod writer {
    use vectored::CostModel;

    use crate::measure::sampling::sampler::Contender;
    use crate::measure::write::mover::Mover;

    /// Makes the mover of a contender, in each writer for itself.
    pub type WriterMovers = fn(Contender, &CostModel) -> Box<dyn Mover>;
}
