//! The analysis against its rules, on events made by hand.

mod delays;
mod events;
mod files;
mod foreign;
mod histories;
mod merging;
mod model;
mod observers;
mod reading;
mod rules;
mod stalls;
mod texts;
mod unread;
