// The search runs in a worker. A page that was opened from a file may start no worker: there, a hidden frame takes its place.
class IFrameWorker extends EventTarget {
  constructor(url) {
    super()
    const frame = document.body.appendChild(document.createElement("iframe"))
    frame.hidden = true
    const worker = frame.contentWindow
    worker.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
    worker.importScripts = (...urls) => urls.reduce((before, src) => before.then(() => run(src)), Promise.resolve())
    const run = src => new Promise((resolve, reject) => {
      const script = worker.document.createElement("script")
      Object.assign(script, { src, onload: resolve, onerror: reject })
      worker.document.body.append(script)
    })
    this.started = run(url)
    this.postMessage = data =>
      this.started.then(() => worker.dispatchEvent(new MessageEvent("message", { data })))
    this.terminate = () => frame.remove()
    this.addEventListener("message", event => this.onmessage && this.onmessage(event))
  }
}
if (location.protocol === "file:") window.Worker = IFrameWorker
