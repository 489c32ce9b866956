//! The accessibility bus: many calls in flight, each application under its own window and deadline.
//!
//! A call is written once and never repeated. Whether it was written is known: [`BusFault::NotSent`] proves
//! that the application saw nothing.

use std::collections::HashMap;
use std::future::Future;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use deskhand_contract::limit::Limit;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::runtime::{Handle, Runtime};
use tokio::sync::Semaphore;
use zbus::message::Message;
use zbus::{Connection, DynamicType, Type};

/// Most calls that wait for one application at a time. More made ATK applications answer wrongly.
const IN_FLIGHT: usize = 64;
/// How often a waiting call looks whether it was cancelled.
const LOOK: Duration = Duration::from_millis(15);
/// Longest that making the connection may take.
const CONNECT: Duration = Duration::from_secs(5);
/// Messages that may wait to be read before the connection stops reading.
const QUEUED: NonZeroUsize = NonZeroUsize::new(4_096).expect("the bound is not zero");

/// A connection to the accessibility bus, with the thread that serves it.
pub(crate) struct Bus {
    connection: Connection,
    handle: Handle,
    /// Kept so that it ends with the bus, from any thread.
    runtime: Option<Runtime>,
    windows: Mutex<HashMap<Arc<str>, Arc<Semaphore>>>,
}

/// Why a call has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BusFault {
    /// The object, interface, method or application does not exist: nothing was done.
    Absent,
    /// The application answered with another error.
    Refused,
    /// It was never written to the bus.
    NotSent,
    /// It was written, and no answer came in time.
    Silent,
    /// It was cancelled after it was written.
    Cancelled,
    /// The application left the bus after it was written, without an answer.
    Died,
    /// The connection broke after it was written.
    Lost,
    /// The answer is not of the expected shape.
    Malformed,
}

impl Bus {
    /// Connects to the bus at `address`.
    ///
    /// # Errors
    /// A sentence that says what failed.
    pub(crate) fn connect(address: &str) -> Result<Self, String> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("bus")
            .thread_stack_size(512 << 10)
            .enable_all()
            .build()
            .map_err(|error| format!("no thread for the accessibility bus: {error}"))?;
        let made = runtime.block_on(async {
            let builder = zbus::connection::Builder::address(address).max_queued(QUEUED);
            tokio::time::timeout(CONNECT, builder.build()).await
        });
        let connection = match made {
            Ok(Ok(connection)) => connection,
            Ok(Err(error)) => return Err(format!("the bus cannot be reached: {error}")),
            Err(_) => return Err("the bus did not answer in time".to_owned()),
        };
        let handle = runtime.handle().clone();
        Ok(Self { connection, handle, runtime: Some(runtime), windows: Mutex::new(HashMap::new()) })
    }

    /// The connection, for streams of signals.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Whether the bus is gone.
    pub(crate) fn is_closed(&self) -> bool {
        self.connection.is_closed()
    }

    /// Runs `work` beside everything else, on the bus's own thread.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.handle.spawn(work);
    }

    /// Waits for `work`, on the calling thread. The thread must not be one of an async runtime.
    pub(crate) fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.handle.block_on(work)
    }

    /// One call and its answer, waited for on the calling thread.
    pub(crate) fn ask<A: Serialize + DynamicType, T: DeserializeOwned + Type>(
        &self,
        call: &Call<'_>,
        argument: &A,
        limit: &Limit,
    ) -> Result<T, BusFault> {
        self.wait(self.call(call, argument, limit))
    }

    /// One call and its answer.
    pub(crate) async fn call<A: Serialize + DynamicType, T: DeserializeOwned + Type>(
        &self,
        call: &Call<'_>,
        argument: &A,
        limit: &Limit,
    ) -> Result<T, BusFault> {
        let message = self.call_raw(call, argument, limit).await?;
        message.body().deserialize_ignore_signature().map_err(|_| BusFault::Malformed)
    }

    /// One call and its answer as it came.
    pub(crate) async fn call_raw<A: Serialize + DynamicType>(
        &self,
        call: &Call<'_>,
        argument: &A,
        limit: &Limit,
    ) -> Result<Message, BusFault> {
        if limit.is_over() {
            return Err(BusFault::NotSent);
        }
        let window = self.window(call.bus);
        let Some(_place) = within(limit, window.acquire()).await else { return Err(BusFault::NotSent) };
        let sent = self.connection.call_method(Some(call.bus), call.path, Some(call.interface), call.method, argument);
        match within(limit, sent).await {
            Some(Ok(message)) => Ok(message),
            Some(Err(error)) => Err(fault(&error)),
            None if limit.cancel.is_cancelled() => Err(BusFault::Cancelled),
            None => Err(BusFault::Silent),
        }
    }

    /// A property of an object.
    pub(crate) async fn property<T>(
        &self,
        object: (&str, &str),
        interface: &str,
        name: &str,
        limit: &Limit,
    ) -> Result<T, BusFault>
    where
        T: TryFrom<zbus::OwnedVariant>,
    {
        let call = Call { bus: object.0, path: object.1, interface: "org.freedesktop.DBus.Properties", method: "Get" };
        let value: zbus::OwnedVariant = self.call(&call, &(interface, name), limit).await?;
        T::try_from(value).map_err(|_| BusFault::Malformed)
    }

    /// Forgets the window of an application that left the bus.
    pub(crate) fn forget(&self, bus: &str) {
        self.windows.lock().unwrap_or_else(PoisonError::into_inner).remove(bus);
    }

    fn window(&self, bus: &str) -> Arc<Semaphore> {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(window) = windows.get(bus) {
            return Arc::clone(window);
        }
        let window = Arc::new(Semaphore::new(IN_FLIGHT));
        windows.insert(bus.into(), Arc::clone(&window));
        window
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Where a call goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call<'a> {
    /// Unique bus name.
    pub(crate) bus: &'a str,
    /// Object path.
    pub(crate) path: &'a str,
    /// Interface.
    pub(crate) interface: &'a str,
    /// Method.
    pub(crate) method: &'a str,
}

/// Answers of all of `questions`, in their order, all under way at once.
pub(crate) async fn all<T, F: Future<Output = T>>(questions: impl IntoIterator<Item = F>) -> Vec<T> {
    let mut running: FuturesUnordered<_> =
        questions.into_iter().enumerate().map(|(index, question)| async move { (index, question.await) }).collect();
    let mut answers = Vec::with_capacity(running.len());
    while let Some(answer) = running.next().await {
        answers.push(answer);
    }
    answers.sort_unstable_by_key(|(index, _)| *index);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

/// `work`, unless the limit ends first.
async fn within<T>(limit: &Limit, work: impl Future<Output = T>) -> Option<T> {
    tokio::pin!(work);
    loop {
        let until = limit.deadline.min(Instant::now() + LOOK);
        match tokio::time::timeout_at(until.into(), &mut work).await {
            Ok(done) => return Some(done),
            Err(_) if limit.is_over() => return None,
            Err(_) => {}
        }
    }
}

fn fault(error: &zbus::Error) -> BusFault {
    let name = match error {
        zbus::Error::MethodError(name, _, _) => name.as_str().to_owned(),
        zbus::Error::FDO(error) => zbus::DBusError::name(error.as_ref()).as_str().to_owned(),
        zbus::Error::InputOutput(_) => return BusFault::Lost,
        _ => return BusFault::Lost,
    };
    match name.as_str() {
        "org.freedesktop.DBus.Error.UnknownMethod"
        | "org.freedesktop.DBus.Error.UnknownObject"
        | "org.freedesktop.DBus.Error.UnknownInterface"
        | "org.freedesktop.DBus.Error.UnknownProperty"
        | "org.freedesktop.DBus.Error.ServiceUnknown"
        | "org.freedesktop.DBus.Error.NameHasNoOwner" => BusFault::Absent,
        // The bus says this for an application that ended while it was asked.
        "org.freedesktop.DBus.Error.NoReply" => BusFault::Died,
        "org.freedesktop.DBus.Error.Disconnected" => BusFault::Lost,
        _ => BusFault::Refused,
    }
}
