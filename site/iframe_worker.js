// Browsers start no worker for a page that was opened from a folder (file://). The search's worker then runs in a hidden frame.
// What Material for MkDocs expects of the package iframe-worker, which its offline mode would fetch.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      this.frame = frame;
      const inner = frame.contentWindow;
      window.addEventListener("message", (event) => {
        if (event.source !== inner) return;
        const told = new MessageEvent("message", { data: event.data });
        this.dispatchEvent(told);
        if (this.onmessage) this.onmessage(told);
      });
      this.ready = new Promise((resolve) => {
        inner.document.open();
        inner.document.write(
          "<script>postMessage = (data) => parent.postMessage(data, '*');" +
            "importScripts = () => {};</scr" + "ipt>" +
            `<script src="${url}"></scr` + "ipt>");
        inner.document.close();
        frame.contentWindow.addEventListener("load", resolve);
      });
    }
    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
