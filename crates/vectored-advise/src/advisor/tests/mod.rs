//! The analysis against its rules, on events and logs made by hand. What merging may change is decided by the `model`; the
//! tables here have what its programs cannot do.

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
