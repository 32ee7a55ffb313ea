//! Reads from the environment how `mpirun` or `srun` started this process.

use std::env;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    pub size: u32,
    pub rank: u32,
    /// The environment variable that has the number of processes.
    pub variable: &'static str,
}

/// The environment variables for the number of processes and for the number of this process. The order matters:
/// `mpirun` may run in a Slurm job, and the variables of the inner launcher are valid.
const VARIABLES: [(&str, &str); 3] = [
    // Variables of Open MPI.
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    // Variables of MPICH and its derivatives, and of `srun --mpi=pmi2`.
    ("PMI_SIZE", "PMI_RANK"),
    // Variables of `srun`.
    ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),
];

impl Launch {
    /// Returns `None` if no launcher started this process.
    pub fn from_environment() -> Option<Launch> {
        Launch::from_variables(|name| env::var(name).ok())
    }

    fn from_variables(value: impl Fn(&str) -> Option<String>) -> Option<Launch> {
        let number = |name: &str| value(name)?.trim().parse().ok();
        VARIABLES.into_iter().find_map(|(size, rank)| {
            Some(Launch {
                size: number(size)?,
                rank: number(rank)?,
                variable: size,
            })
        })
    }

    /// The first process prints for all processes.
    pub fn is_other_rank() -> bool {
        Launch::from_environment().is_some_and(|launch| launch.size > 1 && launch.rank > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(variables: &[(&str, &str)]) -> Option<Launch> {
        Launch::from_variables(|name| {
            let (_, value) = variables.iter().find(|(known, _)| *known == name)?;
            Some((*value).to_owned())
        })
    }

    #[test]
    fn the_innermost_launcher_tells_the_number_of_ranks() {
        assert_eq!(launch(&[]), None);
        let slurm = [("SLURM_STEP_NUM_TASKS", "8"), ("SLURM_PROCID", "7")];
        let open_mpi = [("OMPI_COMM_WORLD_SIZE", "4"), ("OMPI_COMM_WORLD_RANK", "3")];
        let of_open_mpi = launch(&[slurm, open_mpi].concat()).unwrap();
        assert_eq!((of_open_mpi.size, of_open_mpi.rank), (4, 3));
        assert_eq!(of_open_mpi.variable, "OMPI_COMM_WORLD_SIZE");
    }
}
