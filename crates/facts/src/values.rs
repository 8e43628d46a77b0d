//! Values of a fixed set, as foreign programs write them.

/// An enum of the words that a source writes, and `Other` for a word that is not in its documentation.
macro_rules! values {
    ($(#[$about:meta])* $name:ident { $($variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name {
            $(#[doc = concat!("`", $word, "`")] $variant,)+
            /// Another word, as it is written.
            Other(String),
        }

        impl From<&str> for $name {
            fn from(word: &str) -> $name {
                match word {
                    $($word => $name::$variant,)+
                    other => $name::Other(other.to_owned()),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(match self {
                    $($name::$variant => $word,)+
                    $name::Other(word) => word,
                })
            }
        }
    };
}

pub(crate) use values;

#[cfg(test)]
mod tests {
    use crate::gpu::ComputeMode;
    use crate::network::OperState;
    use crate::rdma::{LinkLayer, PortState};

    #[test]
    fn unknown_words_are_kept_as_other() {
        assert_eq!(PortState::from("ACTIVE"), PortState::Active);
        assert_eq!(OperState::from("lowerlayerdown"), OperState::LowerLayerDown);
        assert_eq!(ComputeMode::from("Exclusive_Process"), ComputeMode::ExclusiveProcess);
        let other = LinkLayer::from("infiniband");
        assert_eq!(other, LinkLayer::Other("infiniband".into()));
        assert_eq!(other.to_string(), "infiniband");
    }
}
