//! A headless Chromium, controlled through the part of its DevTools protocol that
//! the tests of the page need. <https://chromedevtools.github.io/devtools-protocol/>

use std::io::{BufRead, BufReader, ErrorKind};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tungstenite::stream::MaybeTlsStream;
use tungstenite::{Error, Message, WebSocket, connect};

/// Where Debian and others have it.
const NAMES: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];

/// No answer takes as long, on any machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// The browser with one page, gone with this value.
pub struct Browser {
    process: Child,
    socket: WebSocket<MaybeTlsStream<TcpStream>>,
    session: String,
    last_id: u64,
    /// Everything that happened, in order.
    pub events: Vec<Value>,
    _profile: TempDir,
}

impl Browser {
    /// Starts the browser, or returns the reason why that is impossible.
    pub fn start() -> Result<Self, String> {
        let profile = tempfile::tempdir().unwrap();
        let mut process = NAMES
            .iter()
            .find_map(|name| spawn(name, profile.path()))
            .ok_or("there is no Chromium: on Debian, apt-get install chromium")?;
        // The first line has the address on which it listens.
        let stderr = BufReader::new(process.stderr.take().unwrap());
        let mut lines = stderr.lines().map_while(Result::ok);
        let address = lines.find_map(|line| {
            let address = line.strip_prefix("DevTools listening on ")?;
            Some(address.to_owned())
        });
        let Some(address) = address else {
            let _ = process.kill();
            let _ = process.wait();
            return Err("Chromium does not start here".to_owned());
        };
        // Drained, so that the browser never blocks on a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        let (socket, _) = connect(address).unwrap();
        if let MaybeTlsStream::Plain(stream) = socket.get_ref() {
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
        }
        let mut browser = Browser {
            process,
            socket,
            session: String::new(),
            last_id: 0,
            events: Vec::new(),
            _profile: profile,
        };
        let page = browser.ask("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": page["targetId"], "flatten": true});
        let session = browser.ask("Target.attachToTarget", attach);
        browser.session = session["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Network", "Log"] {
            browser.ask(&format!("{domain}.enable"), json!({}));
        }
        Ok(browser)
    }

    /// Opens a file and waits until it is loaded; how long that took.
    pub fn open(&mut self, file: &Path) -> Duration {
        let began = Instant::now();
        self.events.clear();
        let url = format!("file://{}", file.display());
        self.ask("Page.navigate", json!({"url": url}));
        while !self
            .events
            .iter()
            .any(|event| event["method"] == "Page.loadEventFired")
        {
            let message = self.next();
            self.events.push(message);
        }
        began.elapsed()
    }

    /// Asks and waits for the answer.
    pub fn ask(&mut self, method: &str, parameters: Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        let mut question = json!({"id": id, "method": method, "params": parameters});
        if !self.session.is_empty() {
            question["sessionId"] = self.session.clone().into();
        }
        self.socket
            .send(Message::text(question.to_string()))
            .unwrap();
        loop {
            let message = self.next();
            if message["id"] == id {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    fn next(&mut self) -> Value {
        loop {
            match self.socket.read() {
                Ok(Message::Text(text)) => return serde_json::from_str(&text).unwrap(),
                Ok(_) => {}
                // A child that ended, or a timer: nothing was read.
                Err(Error::Io(error)) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => panic!("the browser does not answer: {error}"),
            }
        }
    }

    /// The value of an expression.
    pub fn value(&mut self, expression: &str) -> Value {
        let question = json!({"expression": expression, "returnByValue": true});
        let answer = self.ask("Runtime.evaluate", question);
        assert!(
            answer["exceptionDetails"].is_null(),
            "{expression}: {answer}"
        );
        answer["result"]["value"].clone()
    }

    pub fn text(&mut self, expression: &str) -> String {
        let value = self.value(expression);
        value
            .as_str()
            .unwrap_or_else(|| panic!("{expression}: {value}"))
            .to_owned()
    }

    /// Moves the mouse to a place in the window, and clicks if so.
    pub fn point(&mut self, x: f64, y: f64, clicks: bool) {
        let kinds: &[&str] = match clicks {
            true => &["mouseMoved", "mousePressed", "mouseReleased"],
            false => &["mouseMoved"],
        };
        for kind in kinds {
            let button = if *kind == "mouseMoved" {
                "none"
            } else {
                "left"
            };
            let event = json!({"type": kind, "x": x, "y": y, "button": button, "clickCount": 1});
            self.ask("Input.dispatchMouseEvent", event);
        }
    }

    /// Points at the middle of the first element that the selector finds.
    pub fn click(&mut self, selector: &str) {
        let place = self.value(&format!(
            "(() => {{ const e = document.querySelector({selector:?}); e.scrollIntoView({{block: 'center'}}); \
             const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }})()"
        ));
        self.point(place[0].as_f64().unwrap(), place[1].as_f64().unwrap(), true);
    }

    pub fn key(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            let event = json!({"type": kind, "key": key, "code": key});
            self.ask("Input.dispatchKeyEvent", event);
        }
    }

    /// Errors that the page made, and everything that it asked for beside itself.
    pub fn complaints(&self) -> Vec<String> {
        let is_bad = |event: &&Value| match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" | "Log.entryAdded" => true,
            "Runtime.consoleAPICalled" => event["params"]["type"] != "log",
            "Network.requestWillBeSent" => event["params"]["type"] != "Document",
            _ => false,
        };
        self.events
            .iter()
            .filter(is_bad)
            .map(Value::to_string)
            .collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn spawn(name: &str, profile: &Path) -> Option<Child> {
    Command::new(name)
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
        ])
        .args([
            "--no-first-run",
            "--disable-background-networking",
            "--window-size=1200,900",
        ])
        .args(["--remote-debugging-port=0", "about:blank"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .ok()
}
