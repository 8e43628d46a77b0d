//! What a builder says while it builds, up to its end: one stream of either builder.

use std::time::{Duration, Instant};

use bollard::models::{BuildInfo, BuildInfoAux};
use futures_util::{Stream, StreamExt};

use super::{Event, FIRST_MESSAGE_TIMEOUT, Failure, Step, classic, progress};
use crate::context::Sent;
use crate::error::Error;

/// How the answer to a build ended.
pub(super) enum End {
    /// The stream ended.
    Whole,
    /// The builder's error.
    Error(String),
    /// The connection broke, or nothing came.
    Broken(String),
}

/// Hands everything that the builder says to the reader, until it ends.
pub(super) async fn listen(
    answer: impl Stream<Item = Result<BuildInfo, bollard::errors::Error>>,
    sent: &Sent,
    reader: &mut Reader,
    on: &mut dyn FnMut(Event),
) -> End {
    let mut answer = std::pin::pin!(answer);
    let mut before = (sent.bytes(), Instant::now());
    let mut silent = true;
    loop {
        let next = match silent {
            true => tokio::time::timeout(Duration::from_secs(1), answer.next()).await,
            false => Ok(answer.next().await),
        };
        let info = match next {
            // As long as the context moves, the engine is at work.
            Err(_) if sent.bytes() != before.0 => {
                before = (sent.bytes(), Instant::now());
                continue;
            }
            Err(_) if before.1.elapsed() < FIRST_MESSAGE_TIMEOUT => continue,
            Err(_) => {
                return End::Broken(format!(
                    "no message from the engine for {} \
                    s",
                    FIRST_MESSAGE_TIMEOUT.as_secs()
                ));
            }
            Ok(None) => return End::Whole,
            Ok(Some(info)) => info,
        };
        silent = false;
        match info {
            Ok(info) => reader.take(info, on),
            Err(bollard::errors::Error::DockerStreamError { error }) => return End::Error(error),
            Err(bollard::errors::Error::DockerResponseServerError { message, .. }) => {
                return End::Error(message);
            }
            Err(error) => return End::Broken(Error::from(error).to_string()),
        }
    }
}

/// Reads the messages of the classic builder, one JSON object a line, to their end.
pub(crate) fn read_messages<'t>(lines: impl Iterator<Item = &'t str>, on: &mut dyn FnMut(Event)) {
    let mut reader = Reader::new(false);
    for info in lines.filter_map(|line| serde_json::from_str(line).ok()) {
        reader.take(info, on);
    }
    drop(reader.finish(End::Whole, &Sent::default(), on));
}

/// Follows one of the two builders.
pub(super) struct Reader {
    kind: Kind,
    image: Option<String>,
}

enum Kind {
    BuildKit(progress::Progress),
    Classic(classic::Classic),
}

impl Reader {
    /// A reader of what BuildKit says, or the classic builder.
    pub(super) fn new(buildkit: bool) -> Reader {
        let kind = match buildkit {
            true => Kind::BuildKit(progress::Progress::default()),
            false => Kind::Classic(classic::Classic::default()),
        };
        Reader { kind, image: None }
    }

    fn take(&mut self, info: BuildInfo, on: &mut dyn FnMut(Event)) {
        if let Some(BuildInfoAux::Default(image)) = &info.aux {
            self.image = image.id.clone().or(self.image.take());
        }
        match (&mut self.kind, info) {
            (Kind::BuildKit(progress), BuildInfo { aux: Some(BuildInfoAux::BuildKit(status)), .. }) => {
                progress.take(status, on);
            }
            (Kind::BuildKit(_), _) => {}
            (Kind::Classic(classic), info) => classic.take(&info, on),
        }
    }

    /// The image and its steps, or why there is none.
    pub(super) fn finish(
        self,
        end: End,
        sent: &Sent,
        on: &mut dyn FnMut(Event),
    ) -> Result<(String, Vec<Step>), Failure> {
        if let Some(why) = sent.failed() {
            return Err(Failure::Context(why));
        }
        let (failed, steps, image) = match self.kind {
            Kind::BuildKit(progress) => (progress.failed(), progress.steps(), None),
            Kind::Classic(classic) => classic.finish(matches!(end, End::Whole), on),
        };
        match (end, self.image.or(image)) {
            (End::Error(message), _) => Err(match failed {
                Some((name, last)) => Failure::Step { name, last, message },
                None => Failure::Refused(message),
            }),
            (End::Broken(why), _) => Err(Failure::Gone(why)),
            (End::Whole, Some(image)) => Ok((image, steps)),
            (End::Whole, None) => Err(Failure::Gone("the engine ended the build without a result".into())),
        }
    }
}
