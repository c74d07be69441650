"""A real browser that looks at a page, and how a point of the arm is found in it."""
from base64 import b64decode
from io import BytesIO
import shutil
import time

import numpy as np

# s; a processor that draws in place of a graphics processor has little time for all else
PATIENCE = 120.0
BROWSERS = ('chromium', 'chromium-browser', 'google-chrome')
_FLAGS = ('--headless=new', '--no-sandbox', '--disable-dev-shm-usage', '--hide-scrollbars',
          '--use-angle=swiftshader', '--enable-unsafe-swiftshader')
_CANVAS = 'let r = document.querySelector("canvas").getBoundingClientRect();' \
          'return [r.x, r.y, r.width, r.height]'
_BUTTON = 'return [...document.querySelectorAll("button")].find(' \
          'b => b.textContent.trim() == arguments[0])'
_CANVASES = 'return document.querySelectorAll("canvas").length'
_BOX = """
let label = [...document.querySelectorAll("label, span, div")].find(
    each => each.children.length == 0 && each.textContent.trim() == arguments[0]);
while (!label.querySelector("input[type=checkbox]")) label = label.parentElement;
label.querySelector("input[type=checkbox]").click()"""
_CLOSE = 'document.querySelectorAll(".mantine-Notification-closeButton").forEach(b => b.click())'
_TEXT = 'return document.body ? document.body.innerText : ""'  # there is none while it loads
# A page asks for its next frame only some time after the last one: a processor that draws without
# a pause has no time for clicks, and none for what the page shows.
_FEWER_FRAMES = 'const next = window.requestAnimationFrame;' \
                'window.requestAnimationFrame = ' \
                'draw => setTimeout(() => next.call(window, draw), 200)'


def missing():
    """Return why there is no browser to test with; '' if there is one."""
    try:
        import selenium  # noqa: F401
    except ImportError:
        return 'selenium is not installed'
    if not _found(*BROWSERS):
        return 'chromium is not installed'
    return '' if _found('chromedriver') else 'chromedriver is not installed'


def _found(*names):
    return next(filter(None, map(shutil.which, names)), None)


class Browser:
    """
    A headless Chromium with one page, closed at the end of the `with` block.

    It draws without a graphics processor: `scale` below 1 spares it most of the pixels.
    """

    def __init__(self, url, size=(1200, 760), scale=0.5):
        from selenium import webdriver
        from selenium.webdriver.chrome.options import Options
        from selenium.webdriver.chrome.service import Service
        options = Options()
        options.binary_location = _found(*BROWSERS)
        options.page_load_strategy = 'none'  # waits are for conditions
        for flag in (*_FLAGS, f'--window-size={size[0]},{size[1]}',
                     f'--force-device-scale-factor={scale}'):
            options.add_argument(flag)
        self.driver = webdriver.Chrome(options, Service(_found('chromedriver')))
        self.driver.set_script_timeout(PATIENCE)
        self.driver.execute_cdp_cmd('Page.addScriptToEvaluateOnNewDocument',
                                    {'source': _FEWER_FRAMES})
        self.driver.get(url)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.quit()

    def wait_for(self, text):
        """Wait until the page shows a text, and draws."""
        end, seen = time.monotonic() + PATIENCE, ''
        while text not in seen or not self.driver.execute_script(_CANVASES):
            assert time.monotonic() < end, f'{text!r} is not on the page:\n{seen}'
            time.sleep(0.2)
            seen = self.text()

    @property
    def width(self):
        """Of the page, in its own pixels."""
        return self.driver.execute_script('return window.innerWidth')

    def text(self):
        """Return all text of the page."""
        return self.driver.execute_script(_TEXT) or ''

    def click(self, label):
        """Click a button."""
        self.driver.execute_script(_BUTTON.replace('return ', '') + '.click()', label)

    def tick(self, label):
        """Tick a box."""
        self.driver.execute_script(_BOX, label)

    def dismiss(self):
        """Close all notifications."""
        self.driver.execute_script(_CLOSE)

    def pixel_of(self, point, eye, target, angle):
        """Return where the page shows a point, for a camera that looks from eye to target."""
        left, top, width, height = self.driver.execute_script(_CANVAS)
        forward = np.subtract(target, eye) / np.linalg.norm(np.subtract(target, eye))
        right = np.cross(forward, [0.0, 0.0, 1.0])
        right /= np.linalg.norm(right)
        away = np.subtract(point, eye)
        scale = 0.5 * height / np.tan(0.5 * angle) / (away @ forward)
        return (left + 0.5 * width + scale * (away @ right),
                top + 0.5 * height - scale * (away @ np.cross(right, forward)))

    def press(self, x, y):
        """Press the left button of the mouse at a pixel."""
        self._mouse(lambda mouse: mouse.move_to_location(int(x), int(y)).pointer_down())

    def drag(self, x, y):
        """Move the mouse to a pixel."""
        self._mouse(lambda mouse: mouse.move_to_location(int(x), int(y)))

    def release(self):
        """Release the button."""
        self._mouse(lambda mouse: mouse.pointer_up())

    def _mouse(self, act):
        from selenium.webdriver.common.action_chains import ActionChains
        chain = ActionChains(self.driver, duration=50)
        act(chain.w3c_actions.pointer_action)
        chain.perform()

    def picture(self, path):
        """Write what is seen, and return it, (height, width, 3)."""
        from PIL import Image
        # save_screenshot gives up after 10 s, whatever the timeouts are
        picture = self.driver.execute_cdp_cmd('Page.captureScreenshot', {'format': 'png'})
        with Image.open(BytesIO(b64decode(picture['data']))) as image:
            colors = image.convert('RGB')
        colors.save(path, optimize=True)
        return np.asarray(colors)
