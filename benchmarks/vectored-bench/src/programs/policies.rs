//! The policies of the queues.

use std::io;
use std::path::Path;
use std::time::Duration;

use vectored::CostModel;
use vectored::cost::TargetKind;
use vectored::queue::QueuePolicy;

/// The source of the policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicySource {
    /// The defaults of the library.
    Default,
    /// Cost models that are calibrated before the measurement.
    Calibrated,
}

impl PolicySource {
    /// Every source.
    pub const ALL: [PolicySource; 2] = [PolicySource::Default, PolicySource::Calibrated];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            PolicySource::Default => "default",
            PolicySource::Calibrated => "calibrated",
        }
    }
}

/// A policy for each kind of target.
#[derive(Clone, Copy, Debug)]
pub struct Policies {
    /// For TCP connections.
    pub tcp: QueuePolicy,
    /// For files that are appended to.
    pub append: QueuePolicy,
    /// For files that are overwritten.
    pub overwrite: QueuePolicy,
}

/// The budget of a calibration, as the library recommends it.
const BUDGET: Duration = Duration::from_millis(60);

impl Policies {
    /// The policies of a source. Files are calibrated in `directory`.
    ///
    /// # Errors
    ///
    /// If a target cannot be calibrated.
    pub fn of(source: PolicySource, directory: &Path) -> io::Result<Policies> {
        let policy = |kind: TargetKind| match source {
            PolicySource::Default => Ok(QueuePolicy::for_target(kind)),
            PolicySource::Calibrated => {
                let model = CostModel::calibrate(kind, directory, BUDGET)?;
                let mut policy = QueuePolicy::from_model(&model);
                // The documentation of `from_model` asks for this limit.
                policy.limit_bytes = QueuePolicy::for_target(kind).limit_bytes;
                Ok::<_, io::Error>(policy)
            }
        };
        Ok(Policies {
            tcp: policy(TargetKind::Tcp)?,
            append: policy(TargetKind::File)?,
            overwrite: policy(TargetKind::FileOverwrite)?,
        })
    }

    /// The thresholds, in words.
    pub fn in_words(&self) -> String {
        let words = |name: &str, policy: &QueuePolicy| {
            let (copy, join) = (policy.copy_below_bytes, policy.join_below_bytes);
            format!("{name}: copy below {copy} B, join below {join} B")
        };
        [
            words("TCP", &self.tcp),
            words("appended files", &self.append),
            words("overwritten files", &self.overwrite),
        ]
        .join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vectored::cost::TargetKind;

    #[test]
    fn each_target_has_the_policy_of_its_kind() {
        let policies = Policies::of(PolicySource::Default, Path::new("/proc/nowhere")).unwrap();
        assert_eq!(policies.tcp, QueuePolicy::for_target(TargetKind::Tcp));
        assert_eq!(policies.append, QueuePolicy::for_target(TargetKind::File));
        assert!(
            policies
                .in_words()
                .contains("; overwritten files: copy below ")
        );
        let nowhere = Policies::of(PolicySource::Calibrated, Path::new("/proc/nowhere"));
        assert!(nowhere.is_err());
    }
}
