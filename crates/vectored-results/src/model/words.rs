//! Enums whose values have words.

/// Defines an enum with the words of its values: the same on the command line, in JSON and in tables.
macro_rules! words {
    (
        $(#[$of_type:meta])*
        pub enum $type:ident {
            $($(#[$of_value:meta])* $value:ident = $word:literal),+ $(,)?
        }
    ) => {
        $(#[$of_type])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(serde::Serialize, serde::Deserialize)]
        pub enum $type {
            $($(#[$of_value])* #[serde(rename = $word)] $value),+
        }

        impl $type {
            /// All values, the default first.
            pub const ALL: [$type; [$($word),+].len()] = [$($type::$value),+];

            pub const WORDS: [&'static str; [$($word),+].len()] = [$($word),+];

            pub fn name(self) -> &'static str {
                match self {
                    $($type::$value => $word),+
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

pub(crate) use words;
