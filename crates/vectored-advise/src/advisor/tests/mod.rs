//! The analysis against its rules, on events and logs made by hand.

mod delays;
mod events;
mod files;
mod foreign;
mod forms;
mod histories;
mod logs;
mod merging;
mod model;
mod programs;
mod reading;
mod remedies;
mod rows;
mod rules;
mod stalls;
mod unread;
