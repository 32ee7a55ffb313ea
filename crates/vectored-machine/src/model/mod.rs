//! The results about a machine: plain structs that can be saved and loaded.

mod host;
mod host_report;
mod price;

pub use crate::model::host::{CpuInfo, DirectoryInfo, Host, Timer};
pub use crate::model::host_report::{DirectOffer, HOST_SCHEMA, HostReport, Known};
pub use crate::model::price::{DescriptorKind, FAST_IOVECS, Operation, Price};
