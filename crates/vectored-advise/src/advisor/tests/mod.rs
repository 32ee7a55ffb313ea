//! The analysis against its rules, on events and logs made by hand.

mod delays;
mod figures;
mod files;
mod foreign;
mod forms;
mod logs;
mod model;
mod programs;
mod remedies;
mod rows;
mod rules;
mod stalls;
mod unread;
