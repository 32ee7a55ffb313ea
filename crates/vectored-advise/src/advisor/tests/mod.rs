//! The analysis against its rules, on events and logs made by hand. The `model` decides what merging may change. The
//! tables here have what the programs of the model cannot do.

mod figures;
mod files;
mod logs;
mod model;
mod programs;
mod rules;
mod says;
mod stalls;
mod times;
mod unread;
