"""The chat in the browser. Gradio takes seconds to import, so it is imported when a page is built and never before."""

import os

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # Set before gradio is imported: no request leaves this machine.

from moechat.web.page_server import beside, running, serve

__all__ = ["beside", "running", "serve"]
