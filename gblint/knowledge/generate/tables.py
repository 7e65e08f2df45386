"""What is probed under Dynamo outside torch's own sample inputs: callables, the arguments to try, context managers.

A line of a table is an expression, filed under the dotted name of the function it calls, or `name := expression`;
`name@form := expression` is another form of calling it, filed beside the plain one.
Names the expressions use are those of `namespace.make`; t, i, b (float, int and bool tensor) and arr (ndarray) are
arguments of the compiled program, all others are its globals.
"""

from __future__ import annotations

# Modules whose public functions and classes are harmless to call: arguments are found by trying POOL in order.
POOLED_MODULES = """
math cmath random operator itertools functools collections copy json re statistics heapq bisect string textwrap numbers
fractions decimal datetime uuid hashlib types typing enum dataclasses inspect contextlib weakref os.path builtins base64
struct secrets platform calendar unicodedata zlib colorsys glob fnmatch array difflib pprint ast keyword io abc html
numpy numpy.random numpy.linalg numpy.fft
""".split()

# Never called: they end, block or replace the process, or run what they are given.
FORBIDDEN = {
    "builtins.exit",
    "builtins.quit",
    "builtins.input",
    "builtins.breakpoint",
    "builtins.help",
    "builtins.copyright",
    "builtins.credits",
    "builtins.license",
    "builtins.exec",
    "builtins.compile",
    "builtins.__build_class__",
    "builtins.__import__",
    "inspect.main",
    "numpy.test",
    "numpy.show_config",
    "numpy.show_runtime",
    "numpy.info",
    "numpy.random.test",
    "platform.popen",
    "numpy.linalg.test",
    "numpy.fft.test",
}

# Argument lists from plain to rich; the first that runs eagerly is compiled.
POOL = (
    "",
    "2.5",
    "3",
    "'x'",
    "[3, 1, 2]",
    "{'a': 1}",
    "f",
    "2.5, 1.5",
    "3, 2",
    "'x', 'x'",
    "[3, 1, 2], [1, 2, 3]",
    "f, [1, 2]",
    "[3, 1, 2], 2",
    "2, [3, 1, 2]",
    "f, 2",
    "'x', [1, 2]",
    "obj",
    "obj, 'a'",
    "obj, 'a', 1",
    "Point",
    "Point(1, 2)",
    "b'x'",
    "b'abcd', 2",
    "'i', 1",
    "'i', b'abcd'",
    "path",
    "[path]",
    "path, path",
    "'x', 'x', 'x'",
    "1, 2, 3",
    "[1, 2], 1, 2",
    "lst, 0",
    "lst, 0, 1",
    "[[1, 2], [3, 4]]",
    "it",
    "int",
    "int, 'T'",
    "2024, 1, 1",
    "'T', int",
    "int, (float,)",
    "pattern",
    "'%Y', 1",
    "'2024-01-01'",
    "'2024-01-01', '%Y-%m-%d'",
    "uuid.NAMESPACE_DNS, 'x'",
    "lock",
    "f, f",
    "'NAME', 'a b'",
    "'NAME', ['a', 'b']",
    "'sha1', b'x'",
    "random.Random().getstate()",
    "sys._getframe()",
    "abs, 1",
    "'1'",
    "'x', None",
    "f, [1], [2]",
    "iter([1, 2])",
    "iter(list), 0",
)
NUMPY_POOL = (
    "arr",
    "arr, arr",
    "arr, 1",
    "arr, 0, 1",
    "arr, (0, 1)",
    "mat",
    "mat, mat",
    "mat, arr",
    "[arr, arr]",
    "[mat, mat]",
    "arr > 0",
    "arr > 0, arr",
    "arr > 0, arr, arr",
    "arr.astype(int)",
    "arr.astype(int), 1",
    "arr.astype(int), arr.astype(int)",
    "arr, [1]",
    "arr, arr, arr",
    "3",
    "2, 3",
    "(2, 3)",
    "(2, 3), 1.0",
    "0.0, 1.0, 3",
    "arr.dtype",
    "'int64'",
    "'int64', 'int64'",
    "mat, 0, 1",
    "arr, 'float64'",
    "arr, 0, arr",
    "f, arr",
    "f, 0, mat",
    "0, mat",
    "'ij->ji', mat",
    "1.0, arr, arr",
    "arr, arr > 0",
    "",
    "[3, 1, 2]",
    "'x'",
    "0.5, 3",
    "1, 0.5, 3",
    "1, 2, 3",
    "3, [0.5, 0.5]",
    "np.float64(1.0)",
    "mat, 2",
    "'1 2', sep=' '",
    "b'abcdefgh'",
    "f, (2, 2)",
    "arr, 'x'",
    "'i4'",
    "[1, 2], [1, 2]",
)
# For NumPy functions a second time, with numbers and lists as model code passes them (`np.prod(x.shape)`).
NUMPY_PYTHON_POOL = ("2.5", "(2, 3)", "[3, 1, 2]", "3", "2.5, 1.5", "[1, 2], [3, 4]", "0.0, 1.0, 3", "3, 2")

# Instances whose methods are probed, from the same pool.
RECEIVERS = {
    "str": "'a,b'",
    "bytes": "b'ab'",
    "list": "lst",
    "dict": "dct",
    "set": "{1, 2}",
    "frozenset": "frozenset({1})",
    "tuple": "(1, 2)",
    "int": "n",
    "float": "x",
    "complex": "(1 + 2j)",
    "range": "range(3)",
    "slice": "slice(0, 2)",
    "random.Random": "rng",
    "re.Pattern": "pattern",
    "re.Match": "match",
    "datetime.datetime": "moment",
    "datetime.date": "day",
    "datetime.timedelta": "delta",
    "decimal.Decimal": "decimal.Decimal(2)",
    "fractions.Fraction": "fractions.Fraction(1, 2)",
    "collections.deque": "collections.deque([1, 2])",
    "collections.OrderedDict": "collections.OrderedDict(a=1)",
    "collections.Counter": "collections.Counter('aab')",
    "collections.defaultdict": "collections.defaultdict(list, a=1)",
    "collections.ChainMap": "collections.ChainMap({'a': 1})",
    "string.Template": "string.Template('$a')",
    "uuid.UUID": "some_uuid",
    "io.StringIO": "text_io",
    "io.BytesIO": "bytes_io",
    "functools.partial": "part",
    "array.array": "array.array('i', [1])",
    "weakref.ref": "ref",
    "contextvars.ContextVar": "variable",
    "types.MappingProxyType": "types.MappingProxyType(dct)",
    "numpy.ndarray": "arr",
    "numpy.random.Generator": "np_rng",
    "numpy.random.RandomState": "np_state",
    "numpy.float64": "np.float64(2.5)",
    "numpy.dtype": "np.dtype('f4')",
    "inspect.Signature": "signature",
    "pathlib.PurePath": "pathlib.PurePath('a/b.txt')",
    "threading.local": "local",
}

EXPRESSIONS = r"""
time.time()
time.perf_counter()
time.perf_counter_ns()
time.monotonic()
time.monotonic_ns()
time.process_time()
time.process_time_ns()
time.time_ns()
time.thread_time()
time.sleep(0)
time.localtime()
time.gmtime()
time.strftime('%Y')
time.ctime()
time.asctime()
time.mktime(now)
time.strptime('2024', '%Y')
time.get_clock_info('time')
timeit.default_timer()
os.getcwd()
os.getpid()
os.getppid()
os.cpu_count()
os.listdir('.')
os.scandir('.')
os.walk('.')
os.stat(path)
os.makedirs('made', exist_ok=True)
os.mkdir('made')
os.remove(path)
os.rename(path, path + '2')
os.getenv('HOME')
os.environ.get := os.environ.get('HOME')
os.environ.__getitem__ := os.environ['PATH']
os.environ.__contains__ := 'HOME' in os.environ
os.environ.setdefault := os.environ.setdefault('GBLINT_PROBE', '1')
os.environ.__setitem__ := os.environ.__setitem__('GBLINT_PROBE', '1')
os.environ.update := os.environ.update(GBLINT_PROBE='1')
os.environ.copy := os.environ.copy()
os.environ.items := list(os.environ.items())
os.putenv('GBLINT_PROBE', '1')
os.unsetenv('GBLINT_PROBE')
os.system('true')
os.popen('true')
os.urandom(4)
os.fspath(path)
os.access(path, os.R_OK)
os.chdir('.')
os.uname()
os.getlogin()
os.get_terminal_size()
os.sched_getaffinity(0)
os.getloadavg()
os.times()
os.isatty(0)
os.fsencode('x')
os.fsdecode(b'x')
os.pipe()
os.umask(0)
sys.getsizeof(lst)
sys.getrefcount(lst)
sys.exc_info()
sys.getrecursionlimit()
sys.setrecursionlimit(5000)
sys._getframe()
sys.intern('x')
sys.getdefaultencoding()
sys.gettrace()
sys.settrace(None)
sys.getprofile()
sys.stdout.write := sys.stdout.write('x')
sys.stdout.flush := sys.stdout.flush()
sys.stderr.write := sys.stderr.write('x')
sys.stderr.flush := sys.stderr.flush()
sys.modules.get := sys.modules.get('os')
sys.modules.__contains__ := 'os' in sys.modules
sys.path.append := sys.path.append('x')
sys.path.insert := sys.path.insert(0, 'x')
sys.getswitchinterval()
sys.is_finalizing()
sys.displayhook(1)
print := print('x')
open := open(path)
open.read := open(path).read()
io.StringIO.write := text_io.write('x')
exec := exec('1')
eval := eval('1 + 1')
compile := compile('1', '', 'eval')
__import__ := __import__('os')
locals := locals()
globals := globals()
vars := vars(obj)
dir := dir(obj)
id := id(obj)
hash := hash('x')
super := super(Child, Child())
breakpoint := breakpoint()
logging.getLogger('a')
logging.getLogger()
logging.debug('x')
logging.info('x')
logging.warning('x')
logging.error('x')
logging.critical('x')
logging.exception('x')
logging.log(10, 'x')
logging.basicConfig()
logging.disable()
logging.getLevelName(10)
logging.StreamHandler()
logging.Formatter()
logging.captureWarnings(True)
logging.Logger.debug := logger.debug('x')
logging.Logger.info := logger.info('x')
logging.Logger.warning := logger.warning('x')
logging.Logger.warn := logger.warn('x')
logging.Logger.error := logger.error('x')
logging.Logger.critical := logger.critical('x')
logging.Logger.exception := logger.exception('x')
logging.Logger.log := logger.log(10, 'x')
logging.Logger.isEnabledFor := logger.isEnabledFor(10)
logging.Logger.getEffectiveLevel := logger.getEffectiveLevel()
logging.Logger.setLevel := logger.setLevel(10)
logging.Logger.addHandler := logger.addHandler(logging.NullHandler())
logging.Logger.hasHandlers := logger.hasHandlers()
logging.Logger.getChild := logger.getChild('x')
logging.Handler.flush := handler.flush()
warnings.warn('x')
warnings.warn_explicit('x', UserWarning, 'f', 1)
warnings.simplefilter('ignore')
warnings.filterwarnings('ignore')
warnings.resetwarnings()
warnings.formatwarning('x', UserWarning, 'f', 1)
threading.Lock()
threading.RLock()
threading.Event()
threading.Condition()
threading.Semaphore()
threading.Thread(target=f)
threading.Timer(1, f)
threading.local()
threading.current_thread()
threading.get_ident()
threading.get_native_id()
threading.main_thread()
threading.active_count()
threading.enumerate()
threading.Lock.acquire := lock.acquire(False)
threading.Lock.release := held_lock.release()
threading.Lock.locked := lock.locked()
threading.RLock.acquire := rlock.acquire(False)
threading.Event.set := event.set()
threading.Event.clear := event.clear()
threading.Event.is_set := event.is_set()
threading.Event.wait := event.wait(0)
threading.Thread.start := threading.Thread(target=f, args=(1,)).start()
threading.Thread.is_alive := thread.is_alive()
threading.Thread.join := finished.join()
queue.Queue()
queue.PriorityQueue()
queue.SimpleQueue()
queue.Queue.put := some_queue.put(1)
queue.Queue.get := some_queue.get(False)
queue.Queue.put_nowait := some_queue.put_nowait(1)
queue.Queue.get_nowait := some_queue.get_nowait()
queue.Queue.empty := some_queue.empty()
queue.Queue.qsize := some_queue.qsize()
concurrent.futures.ThreadPoolExecutor()
concurrent.futures.ThreadPoolExecutor.submit := executor.submit(f, 1)
concurrent.futures.ThreadPoolExecutor.map := executor.map(f, [1])
concurrent.futures.Future.result := future.result()
concurrent.futures.wait([future])
multiprocessing.cpu_count()
multiprocessing.current_process()
multiprocessing.Queue()
multiprocessing.Lock()
multiprocessing.Value('i', 0)
asyncio.get_event_loop()
asyncio.new_event_loop()
asyncio.sleep(0)
asyncio.Queue()
gc.collect()
gc.disable()
gc.enable()
gc.isenabled()
gc.get_objects()
gc.get_count()
gc.get_referrers(obj)
gc.freeze()
gc.is_tracked(obj)
importlib.import_module('math')
importlib.reload(string)
importlib.invalidate_caches()
importlib.util.find_spec('math')
importlib.metadata.version('numpy')
importlib.metadata.distribution('numpy')
importlib.resources.files('json')
pkgutil.iter_modules()
pkgutil.get_data('json', '__init__.py')
pathlib.Path('a/b.txt')
pathlib.Path.exists := file.exists()
pathlib.Path.is_file := file.is_file()
pathlib.Path.is_dir := file.is_dir()
pathlib.Path.read_text := file.read_text()
pathlib.Path.read_bytes := file.read_bytes()
pathlib.Path.write_text := file.write_text('x')
pathlib.Path.write_bytes := file.write_bytes(b'x')
pathlib.Path.mkdir := file.parent.mkdir(exist_ok=True)
pathlib.Path.unlink := file.unlink()
pathlib.Path.open := file.open()
pathlib.Path.stat := file.stat()
pathlib.Path.resolve := file.resolve()
pathlib.Path.absolute := file.absolute()
pathlib.Path.expanduser := file.expanduser()
pathlib.Path.glob := file.parent.glob('*')
pathlib.Path.rglob := file.parent.rglob('*')
pathlib.Path.iterdir := list(file.parent.iterdir())
pathlib.Path.touch := file.touch()
pathlib.Path.rename := file.rename(str(file) + '2')
pathlib.Path.joinpath := file.joinpath('x')
pathlib.Path.with_suffix := file.with_suffix('.x')
pathlib.Path.__truediv__ := file / 'x'
pathlib.Path.as_posix := file.as_posix()
pathlib.Path.relative_to := file.relative_to(file.parent)
pathlib.Path.cwd()
pathlib.Path.home()
tempfile.mkdtemp()
tempfile.mkstemp()
tempfile.gettempdir()
tempfile.NamedTemporaryFile()
tempfile.TemporaryDirectory()
tempfile.TemporaryFile()
tempfile.mktemp()
shutil.copy(path, path + '2')
shutil.copyfile(path, path + '2')
shutil.copy2(path, path + '2')
shutil.copytree('.', 'copied')
shutil.move(path, path + '2')
shutil.rmtree('nowhere', ignore_errors=True)
shutil.which('true')
shutil.disk_usage('.')
shutil.get_terminal_size()
subprocess.run(['true'])
subprocess.call(['true'])
subprocess.check_call(['true'])
subprocess.check_output(['true'])
subprocess.Popen(['true'])
subprocess.getoutput('true')
pickle.dumps(lst)
pickle.loads(pickled)
pickle.dump(lst, bytes_io)
pickle.load(io.BytesIO(pickled))
marshal.dumps(lst)
json.dump({}, text_io)
json.load(io.StringIO('{}'))
json.JSONEncoder()
csv.reader(['a,b'])
csv.writer(text_io)
csv.DictReader(['a,b'])
configparser.ConfigParser()
argparse.ArgumentParser()
argparse.Namespace(a=1)
traceback.format_exc()
traceback.print_exc()
traceback.print_stack()
traceback.format_stack()
traceback.extract_stack()
traceback.format_exception(ValueError('x'))
traceback.walk_stack(None)
inspect.currentframe()
inspect.stack()
inspect.getsource(f)
inspect.getfile(f)
inspect.getmodule(f)
inspect.getmembers(obj)
inspect.signature(f)
inspect.isfunction(f)
inspect.isclass(Point)
inspect.ismethod(f)
inspect.getfullargspec(f)
inspect.getdoc(f)
inspect.unwrap(f)
inspect.getframeinfo(sys._getframe())
inspect.Parameter('a', inspect.Parameter.POSITIONAL_OR_KEYWORD)
functools.partial(f, 1)
functools.partialmethod(f, 1)
functools.reduce(operator.add, [1, 2])
functools.lru_cache := functools.lru_cache()(f)
functools.cache(f)
functools.wraps := functools.wraps(f)(f)
functools.update_wrapper(f, f)
functools.singledispatch(f)
functools.cmp_to_key(operator.sub)
functools.total_ordering(Ordered)
functools.lru_cache@call := cached(1)
functools.lru_cache.cache_clear := cached.cache_clear()
functools.lru_cache.cache_info := cached.cache_info()
functools.partial@call := part()
functools.singledispatch@call := dispatched(1)
functools.cached_property@get := Cached().value
property@get := Cached().plain
contextlib.contextmanager(generate_numbers)
contextlib.nullcontext()
contextlib.ExitStack()
contextlib.suppress(ValueError)
contextlib.redirect_stdout(text_io)
contextvars.ContextVar('x', default=1)
contextvars.copy_context()
contextvars.ContextVar.get := variable.get()
contextvars.ContextVar.set := variable.set(1)
weakref.ref(obj)
weakref.proxy(obj)
weakref.WeakKeyDictionary()
weakref.WeakValueDictionary()
weakref.WeakSet()
weakref.finalize(obj, f, 1)
weakref.ref@call := ref()
types.SimpleNamespace(a=1)
types.MethodType(f, obj)
types.MappingProxyType({})
types.ModuleType('m')
types.new_class('A')
type@create := type('A', (), {})
typing.cast(int, 1)
typing.get_type_hints(f)
typing.get_origin(list)
typing.get_args(list)
typing.NamedTuple('P', [('a', int)])
typing.TypeVar('T')
enum.Enum@by-value := Color(1)
enum.Enum@by-name := Color['RED']
enum.Enum.name := Color.RED.name
enum.Enum.value := Color.RED.value
enum.Enum.__members__ := list(Color)
enum.auto()
dataclasses.dataclass@create := Point(1, 2)
dataclasses.replace(Point(1, 2), a=3)
dataclasses.asdict(Point(1, 2))
dataclasses.astuple(Point(1, 2))
dataclasses.fields(Point)
dataclasses.is_dataclass(Point)
dataclasses.field(default=1)
dataclasses.dataclass(Plain)
dataclasses.make_dataclass('P', ['a'])
collections.namedtuple('P', 'a b')
collections.namedtuple@create := Pair(1, 2)
collections.namedtuple._replace := Pair(1, 2)._replace(a=3)
collections.namedtuple._asdict := Pair(1, 2)._asdict()
collections.defaultdict(list)
collections.OrderedDict()
collections.deque()
collections.Counter('ab')
collections.ChainMap({})
collections.UserDict()
collections.abc.Sequence@isinstance := isinstance(lst, collections.abc.Sequence)
copy.copy(lst)
copy.copy@object := copy.copy(obj)
copy.deepcopy(lst)
copy.deepcopy@object := copy.deepcopy(obj)
copy.deepcopy@tensor := copy.deepcopy(t)
copy.copy@tensor := copy.copy(t)
copy.deepcopy@module := copy.deepcopy(layer)
random.random()
random.uniform(0, 1)
random.randint(0, 3)
random.randrange(3)
random.choice([1, 2])
random.choices([1, 2])
random.sample([1, 2], 1)
random.shuffle(lst)
random.seed(0)
random.gauss(0, 1)
random.normalvariate(0, 1)
random.betavariate(1, 1)
random.getstate()
random.getrandbits(8)
random.Random(0)
random.SystemRandom()
uuid.uuid4()
uuid.uuid1()
uuid.uuid5(uuid.NAMESPACE_DNS, 'x')
secrets.token_hex(4)
hashlib.sha256(b'x')
hashlib.md5(b'x')
hashlib.HASH.hexdigest := hashlib.md5(b'x').hexdigest()
datetime.datetime.now()
datetime.datetime.utcnow()
datetime.datetime.today()
datetime.datetime.fromtimestamp(0)
datetime.datetime(2024, 1, 1)
datetime.date.today()
datetime.timedelta(days=1)
re.compile('x')
re.sub('x', 'y', 'x')
re.match('x', 'x')
re.search('x', 'x')
re.findall('x', 'x')
re.finditer('x', 'x')
re.fullmatch('x', 'x')
re.split('x', 'x')
re.escape('x')
socket.gethostname()
socket.socket()
signal.signal(signal.SIGALRM, signal.SIG_DFL)
signal.alarm(0)
atexit.register(f)
select.select([], [], [], 0)
sqlite3.connect(':memory:')
urllib.parse.urlparse('http://x/y')
urllib.parse.quote('x y')
urllib.parse.urljoin('http://x', 'y')
zipfile.is_zipfile(path)
gzip.compress(b'x')
ctypes.c_int(1)
ctypes.sizeof(ctypes.c_int)
resource.getrusage(resource.RUSAGE_SELF)
platform.platform := platform.platform()
cProfile.Profile()
tracemalloc.start()
tracemalloc.get_traced_memory()
faulthandler.enable()
locale.getlocale()
getpass.getuser()
linecache.getline(path, 1)
codecs.open(path)
codecs.encode('x', 'utf-8')
mimetypes.guess_type('x.png')
xml.sax.saxutils.escape('x')
graphlib.TopologicalSorter()
sched.scheduler()
isinstance := isinstance(t, torch.Tensor)
issubclass := issubclass(Child, Plain)
getattr := getattr(obj, 'a')
setattr := setattr(obj, 'a', 2)
hasattr := hasattr(obj, 'a')
callable := callable(f)
len := len(t)
type := type(t)
repr := repr(obj)
str := str(n)
format := format(n, '03d')
str.format := 'a{}'.format(n)
str.join := ','.join(['a', 'b'])
int@tensor := int(t.sum())
float@tensor := float(t.sum())
bool@tensor := bool(t.sum())
str@tensor := str(t)
repr@tensor := repr(t)
list@tensor := list(t)
tuple@tensor := tuple(t)
iter@tensor := [row for row in t]
zip@tensor := list(zip(t, t))
enumerate@tensor := list(enumerate(t))
map@tensor := list(map(f, t))
sum@tensor := sum(t)
max@tensor := max(t[0, 0], t[1, 1])
min@tensor := min(t[0, 0], t[1, 1])
abs@tensor := abs(t)
pow@tensor := pow(t, 2)
sorted@tensor := sorted([t[0, 0], t[1, 1]])
any@tensor := any(t[0] > 0)
all@tensor := all(t[0] > 0)
range@tensor := list(range(i[0, 0]))
hash@tensor := hash(t)
id@tensor := id(t)
format@tensor := f'{t.sum():.3f}'
operator.contains@tensor := 1.0 in t
math.sqrt@tensor := math.sqrt(t[0, 0])
math.isnan@tensor := math.isnan(t[0, 0])
math.ceil@tensor := math.ceil(t[0, 0])
math.exp@tensor := math.exp(t[0, 0])
math.prod := math.prod(t.shape)
numpy.prod@shape := np.prod(t.shape)
numpy.asarray@tensor := np.asarray(t)
numpy.array@tensor := np.array(t)
numpy.sum@array := np.sum(arr)
numpy.sqrt@tensor := np.sqrt(t)
numpy.random.seed(0)
numpy.random.rand(2)
numpy.random.rand()
numpy.random.randn(2)
numpy.random.randint(3)
numpy.random.uniform(0, 1)
numpy.random.normal(0, 1)
numpy.random.choice(3)
numpy.random.permutation(3)
numpy.random.shuffle(arr)
numpy.random.default_rng(0)
numpy.random.RandomState(0)
numpy.random.get_state()
numpy.random.beta(1.0, 1.0)
numpy.random.binomial(1, 0.5)
numpy.array([1.0, 2.0])
numpy.asarray([1.0, 2.0])
numpy.zeros((2, 3))
numpy.ones((2, 3))
numpy.full((2, 3), 1.0)
numpy.empty((2, 3))
numpy.eye(3)
numpy.arange(3)
numpy.linspace(0.0, 1.0, 3)
numpy.iinfo('int32')
numpy.finfo('float32')
numpy.errstate(all='ignore')
numpy.seterr(all='ignore')
numpy.savez(path, a=arr)
numpy.save(path, arr)
numpy.set_printoptions(precision=3)
numpy.vectorize(f)
numpy.ndarray.tolist := arr.tolist()
numpy.ndarray.item := arr.sum().item()
numpy.ndarray.astype := arr.astype('float32')
numpy.ndarray.shape := arr.shape
numpy.ndarray.__getitem__@mask := arr[arr > 0]
numpy.float32(2.5)
numpy.int64(3)
numpy.bool_(True)
"""

TORCH_EXPRESSIONS = r"""
torch.manual_seed(0)
torch.seed()
torch.initial_seed()
torch.get_rng_state()
torch.set_rng_state(rng_state)
torch.random.manual_seed(0)
torch.random.get_rng_state()
torch.random.fork_rng()
torch.Generator()
torch.Generator.manual_seed := generator.manual_seed(0)
torch.Generator.seed := generator.seed()
torch.Generator.get_state := generator.get_state()
torch.rand(2, generator=generator)
torch.tensor([1.0, 2.0])
torch.tensor(2.5)
torch.tensor@tensors := torch.tensor([t[0, 0], t[0, 1]])
torch.as_tensor([1.0, 2.0])
torch.as_tensor@array := torch.as_tensor(arr)
torch.from_numpy(arr)
torch.asarray([1.0])
torch.FloatTensor([1.0])
torch.LongTensor([1])
torch.Tensor([1.0])
torch.Tensor.new := t.new(2)
torch.zeros(3)
torch.zeros@tensor-size := torch.zeros(i[0, 0])
torch.arange(3)
torch.arange@tensor := torch.arange(i[0, 0])
torch.full((2,), 1.0)
torch.full@tensor := torch.full((2,), t[0, 0])
torch.linspace@tensor := torch.linspace(t[0, 0], 1.0, 3)
torch.is_tensor(t)
torch.is_floating_point(t)
torch.is_complex(t)
torch.is_storage(t)
torch.is_nonzero(t[0, 0])
torch.is_grad_enabled()
torch.is_inference_mode_enabled()
torch.is_autocast_enabled()
torch.is_autocast_cpu_enabled()
torch.get_autocast_gpu_dtype()
torch.get_autocast_dtype('cpu')
torch.set_autocast_enabled(False)
torch.clear_autocast_cache()
torch.is_deterministic_algorithms_warn_only_enabled()
torch.are_deterministic_algorithms_enabled()
torch.use_deterministic_algorithms(False)
torch.set_default_dtype(torch.float32)
torch.get_default_dtype()
torch.set_default_device('cpu')
torch.get_default_device()
torch.set_grad_enabled(True)
torch.set_num_threads(1)
torch.get_num_threads()
torch.set_printoptions(precision=3)
torch.set_float32_matmul_precision('high')
torch.get_float32_matmul_precision()
torch.set_flush_denormal(False)
torch.finfo(torch.float32)
torch.finfo.max := torch.finfo(torch.float32).max
torch.finfo.min := torch.finfo(t.dtype).min
torch.iinfo(torch.int64)
torch.device('cpu')
torch.Size([1, 2])
torch.save(t, path)
torch.load(saved)
torch.numel(t)
torch.result_type(t, i)
torch.can_cast(torch.int64, torch.float32)
torch.promote_types(torch.int64, torch.float32)
torch.typename(t)
torch.compile(f)
torch.vmap(f)(t)
torch.func.vmap(f)(t)
torch.func.grad(total)(t)
torch.func.jacrev(f)(t)
torch.func.jacfwd(f)(t)
torch.func.hessian(total)(t)
torch.func.vjp(f, t)
torch.func.jvp(f, (t,), (t,))
torch.func.functional_call(layer, dict(layer.named_parameters()), (t,))
torch.func.stack_module_state([layer])
torch.cond := torch.cond(t.sum() > 0, f, f, (t,))
torch._check(n > 0)
torch._check@tensor := torch._check(t.sum() > 0)
torch._assert(n > 0, 'x')
torch._assert@tensor := torch._assert(t.sum() > 0, 'x')
torch._assert_async(t.sum() > -100)
torch.where@one-argument := torch.where(t > 0)
torch.where@uint8 := torch.where(i.to(torch.uint8), t, t)
torch.repeat_interleave@int := torch.repeat_interleave(t, 2)
torch.repeat_interleave@tensor := torch.repeat_interleave(t, i[:, 0], 0)
torch.repeat_interleave@output-size := torch.repeat_interleave(t, torch.ones(4, dtype=torch.int64), 0, output_size=4)
torch.Tensor.repeat_interleave@tensor := t.repeat_interleave(i[:, 0], 0)
torch.nn.functional.one_hot@no-classes := torch.nn.functional.one_hot(i)
torch.nn.functional.one_hot(i, 10)
torch.Tensor.__getitem__@mask := t[b]
torch.Tensor.__getitem__@scalar-bool := t[t.sum() > 0]
torch.Tensor.__getitem__@scalar-int := t[i[0, 0]]
torch.Tensor.__getitem__@int-tensor := t[i[:, 0]]
torch.Tensor.__getitem__@slice-tensor := t[: i[0, 0]]
torch.Tensor.__getitem__@list-mask := t[[True, False, True, False]]
torch.Tensor.__setitem__@mask-scalar := t.__setitem__(b, 0.0)
torch.Tensor.__setitem__@mask-tensor := t.__setitem__(b, t[b])
torch.Tensor.__setitem__@int-tensor := t.__setitem__(i[0, 0], 0.0)
torch.Tensor.__bool__ := bool(t.sum() > 0)
torch.Tensor.__len__ := len(t)
torch.Tensor.__iter__ := [row for row in t]
torch.Tensor.__contains__ := 1.0 in t
torch.Tensor.__int__ := int(i[0, 0])
torch.Tensor.__float__ := float(t[0, 0])
torch.Tensor.__index__ := lst[i[0, 0]]
torch.Tensor.__format__ := f'{t}'
torch.Tensor.__hash__ := {t: 1}
torch.Tensor.tolist@int := i.tolist()
torch.Tensor.numpy@use := t.numpy().sum()
torch.Tensor.split@tensor := t.split(i[0, 0])
torch.Tensor.view@tensor := t.view(i[0, 0], -1)
torch.Tensor.expand@tensor := t[0].expand(i[0, 0], -1)
torch.Tensor.data := t.data
torch.Tensor.data@set := setattr(t, 'data', t * 2)
torch.Tensor.grad := t.grad
torch.Tensor.grad@set := setattr(t, 'grad', None)
torch.Tensor.grad_fn := t.grad_fn
torch.Tensor.is_leaf := t.is_leaf
torch.Tensor.requires_grad := t.requires_grad
torch.Tensor.requires_grad@set := setattr(t, 'requires_grad', True)
torch.Tensor.is_cuda := t.is_cuda
torch.Tensor.device := t.device
torch.Tensor.dtype := t.dtype
torch.Tensor.layout := t.layout
torch.Tensor.names := t.names
torch.Tensor.name := t.name
torch.Tensor.itemsize := t.itemsize
torch.Tensor.nbytes := t.nbytes
torch.Tensor.is_sparse := t.is_sparse
torch.Tensor.is_quantized := t.is_quantized
torch.Tensor.is_meta := t.is_meta
torch.Tensor.is_nested := t.is_nested
torch.Tensor._version := t._version
torch.Tensor._base := t._base
torch.Tensor.output_nr := t.output_nr
torch.Tensor.retains_grad := t.retains_grad
torch.Tensor.T := t.T
torch.Tensor.H := t.H
torch.Tensor.mT := t.mT
torch.Tensor.mH := t.mH
torch.Tensor.real := t.real
torch.Tensor.imag := t.to(torch.complex64).imag
torch.Tensor.ndim := t.ndim
torch.Tensor.shape := t.shape
torch.Tensor.volatile := t.volatile
torch.Tensor.__dict__ := t.__dict__
torch.Tensor.__class__ := t.__class__
torch.Tensor.backward := (t.requires_grad_() * 2).sum().backward()
torch.Tensor.register_hook := (t * 2).register_hook(f)
torch.Tensor.to('cpu')
torch.Tensor.to := t.to(torch.float64)
torch.Tensor.storage := t.storage()
torch.Tensor.untyped_storage := t.untyped_storage()
torch.Tensor.data_ptr := t.data_ptr()
torch.Tensor.pin_memory := t.pin_memory()
torch.Tensor.map_ := t.clone().map_(t, operator.add)
torch.Tensor.as_subclass := t.as_subclass(torch.Tensor)
torch.Tensor.to_sparse := t.to_sparse()
torch.Tensor.is_pinned := t.is_pinned()
torch.Tensor.is_shared := t.is_shared()
torch.Tensor.element_size := t.element_size()
torch.Tensor.get_device := t.get_device()
torch.Tensor.stride := t.stride()
torch.Tensor.storage_offset := t.storage_offset()
torch.Tensor.is_contiguous := t.is_contiguous()
torch.Tensor.new_tensor := t.new_tensor([1.0])
torch.Tensor.type := t.type()
torch.Tensor.type@str := t.type('torch.DoubleTensor')
torch.Tensor.type@dtype := t.type(torch.float64)
torch.Tensor.item := t.sum().item()
torch.Tensor.tolist := t.tolist()
torch.Tensor.numpy := t.numpy()
torch.Tensor.cpu := t.cpu()
torch.Tensor.retain_grad := (t * 2).retain_grad()
torch.Tensor.register_post_accumulate_grad_hook := param.register_post_accumulate_grad_hook(f)
torch.Tensor.__deepcopy__ := copy.deepcopy(t)
torch.Tensor.__reduce_ex__ := t.__reduce_ex__(2)
torch.Tensor.__array__ := t.__array__()
torch.Tensor.__dlpack__ := t.__dlpack__()
torch.Tensor.sparse_mask := t.sparse_mask(t.to_sparse())
torch.sparse_coo_tensor([[0], [1]], [1.0], (2, 2))
torch.sparse.mm(t.to_sparse(), t.T)
torch.nested.nested_tensor([t, t])
torch.nested.as_nested_tensor([t, t])
torch.utils.dlpack.to_dlpack(t)
torch.utils.dlpack.from_dlpack(t)
torch.quantize_per_tensor(t, 0.1, 0, torch.qint8)
torch.autograd.grad(t.requires_grad_().sum(), t)
torch.autograd.backward(t.requires_grad_().sum())
torch.autograd.functional.jacobian(f, t)
torch.autograd.functional.hessian(total, t)
torch.autograd.functional.vjp(f, t, t)
torch.autograd.Variable(t)
torch.autograd.gradcheck(f, t.double().requires_grad_())
torch.autograd.Function.apply := Square.apply(t)
torch.autograd.Function.apply@classmethod := SquareOfClass.apply(t)
torch.autograd.set_detect_anomaly(False)
torch.autograd.set_grad_enabled(True)
torch.autograd.graph.get_gradient_edge(param)
torch.autograd.profiler.record_function('x')
torch.utils.checkpoint.checkpoint(f, t, use_reentrant=False)
torch.utils.checkpoint.checkpoint@reentrant := torch.utils.checkpoint.checkpoint(f, t, use_reentrant=True)
torch.utils.checkpoint.checkpoint_sequential([layer], 1, t, use_reentrant=False)
torch.utils.checkpoint.set_checkpoint_early_stop(False)
torch.utils.data.default_collate([t, t])
torch.utils.data.get_worker_info()
torch.utils.data.DataLoader([1, 2])
torch.utils.data.TensorDataset(t)
torch.utils._pytree.tree_map(f, [t])
torch.utils._pytree.tree_flatten([t])
torch.utils._pytree.tree_leaves([t])
torch.utils._pytree.tree_map_only(torch.Tensor, f, [t])
torch.cuda.is_available()
torch.cuda.device_count()
torch.cuda.current_device()
torch.cuda.synchronize()
torch.cuda.empty_cache()
torch.cuda.memory_allocated()
torch.cuda.max_memory_allocated()
torch.cuda.reset_peak_memory_stats()
torch.cuda.get_device_capability()
torch.cuda.get_device_name()
torch.cuda.get_device_properties(0)
torch.cuda.manual_seed(0)
torch.cuda.manual_seed_all(0)
torch.cuda.get_rng_state()
torch.cuda.is_initialized()
torch.cuda.is_bf16_supported()
torch.cuda.is_current_stream_capturing()
torch.cuda.current_stream()
torch.cuda.Stream()
torch.cuda.Event()
torch.cuda.nvtx.range_push('x')
torch.cuda.nvtx.range_pop()
torch.cuda.set_device(0)
torch.accelerator.is_available()
torch.accelerator.current_accelerator()
torch.accelerator.current_device_index()
torch.accelerator.synchronize()
torch.mps.is_available()
torch.xpu.is_available()
torch.cpu.is_available()
torch.cpu.synchronize()
torch.backends.cuda.is_built()
torch.backends.mps.is_available()
torch.backends.mps.is_built()
torch.backends.mkldnn.is_available()
torch.backends.openmp.is_available()
torch.backends.cudnn.is_available()
torch.backends.cudnn.version()
torch.backends.cudnn.enabled := torch.backends.cudnn.enabled
torch.backends.cudnn.benchmark@set := setattr(torch.backends.cudnn, 'benchmark', True)
torch.backends.cuda.matmul.allow_tf32 := torch.backends.cuda.matmul.allow_tf32
torch.backends.cuda.flash_sdp_enabled()
torch.backends.cuda.mem_efficient_sdp_enabled()
torch.backends.cuda.math_sdp_enabled()
torch.backends.cuda.enable_flash_sdp(True)
torch.compiler.is_compiling()
torch.compiler.is_dynamo_compiling()
torch.compiler.is_exporting()
torch.compiler.disable(f)(t)
torch.compiler.disable@function := disabled(t)
torch.compiler.cudagraph_mark_step_begin()
torch.compiler.reset()
torch.compiler.allow_in_graph(f)(t)
torch.compiler.assume_constant_result(three)()
torch.compiler.substitute_in_graph(f)
torch._dynamo.is_compiling()
torch._dynamo.graph_break()
torch._dynamo.mark_dynamic(t, 0)
torch._dynamo.mark_static(t)
torch._dynamo.maybe_mark_dynamic(t, 0)
torch._dynamo.disable(f)(t)
torch._dynamo.reset()
torch._dynamo.config.patch(verbose=False)
torch.jit.is_scripting()
torch.jit.is_tracing()
torch.jit.script(f)
torch.jit.trace(f, t)
torch.jit.annotate(int, 1)
torch.jit.isinstance(t, torch.Tensor)
torch.jit.ignore(f)
torch.jit.export(f)
torch.jit.fork(f, t)
torch.jit.wait(torch.jit.fork(f, t))
torch.jit.unused(f)
torch.jit.script@function := scripted(t)
torch.jit.trace@function := traced(t)
torch._C._get_tracing_state()
torch._C._jit_set_profiling_mode(False)
torch.onnx.is_in_onnx_export()
torch.overrides.has_torch_function((t,))
torch.overrides.is_tensor_like(t)
torch.overrides.handle_torch_function(f, (t,), t)
torch.fx.symbolic_trace(layer)
torch.fx.wrap('f')
torch.hub.get_dir()
torch.distributed.is_available()
torch.distributed.is_initialized()
torch.distributed.get_rank()
torch.distributed.get_world_size()
torch.distributed.get_backend()
torch.distributed.all_reduce(t)
torch.distributed.all_gather([t.clone()], t)
torch.distributed.all_gather_into_tensor(t.clone(), t)
torch.distributed.all_gather_object([None], 1)
torch.distributed.broadcast(t, 0)
torch.distributed.broadcast_object_list([1], 0)
torch.distributed.reduce(t, 0)
torch.distributed.reduce_scatter(t, [t.clone()])
torch.distributed.reduce_scatter_tensor(t, t.clone())
torch.distributed.scatter(t, [t.clone()])
torch.distributed.gather(t, [t.clone()])
torch.distributed.all_to_all([t], [t.clone()])
torch.distributed.all_to_all_single(t, t.clone())
torch.distributed.barrier()
torch.distributed.new_group([0])
torch.distributed.get_process_group_ranks(torch.distributed.group.WORLD)
torch.distributed.nn.functional.all_reduce(t)
torch.distributed.nn.functional.all_gather(t)
torch.distributed._functional_collectives.all_reduce(t, 'sum', torch.distributed.group.WORLD)
torch.distributions.Normal(0.0, 1.0)
torch.distributions.Normal.sample := torch.distributions.Normal(t, t.exp()).sample()
torch.distributions.Normal.rsample := torch.distributions.Normal(t, t.exp()).rsample()
torch.distributions.Normal.log_prob := torch.distributions.Normal(t, t.exp()).log_prob(t)
torch.distributions.Normal.entropy := torch.distributions.Normal(t, t.exp()).entropy()
torch.distributions.Normal@validate := torch.distributions.Normal(t, t.exp(), validate_args=True)
torch.distributions.Categorical.sample := torch.distributions.Categorical(logits=t).sample()
torch.distributions.Categorical.log_prob := torch.distributions.Categorical(logits=t).log_prob(i[:, 0])
torch.distributions.Bernoulli.sample := torch.distributions.Bernoulli(logits=t).sample()
torch.distributions.Beta.sample := torch.distributions.Beta(t.exp(), t.exp()).sample()
torch.distributions.Gamma.sample := torch.distributions.Gamma(t.exp(), t.exp()).sample()
torch.distributions.Dirichlet.sample := torch.distributions.Dirichlet(t.exp()).sample()
torch.distributions.Uniform.sample := torch.distributions.Uniform(t, t + 1).sample()
torch.distributions.Laplace.sample := torch.distributions.Laplace(t, t.exp()).sample()
torch.distributions.Exponential.sample := torch.distributions.Exponential(t.exp()).sample()
torch.distributions.Poisson.sample := torch.distributions.Poisson(t.exp()).sample()
torch.distributions.Gumbel.sample := torch.distributions.Gumbel(t, t.exp()).sample()
torch.distributions.StudentT.sample := torch.distributions.StudentT(t.exp()).sample()
torch.distributions.MultivariateNormal.sample := torch.distributions.MultivariateNormal(t[0], torch.eye(3)).sample()
torch.distributions.OneHotCategorical.sample := torch.distributions.OneHotCategorical(logits=t).sample()
torch.distributions.Independent.sample := torch.distributions.Independent(normal(t), 1).sample()
torch.distributions.TransformedDistribution.sample := transformed(normal(t), tanh()).sample()
torch.distributions.kl_divergence(normal(t), normal(t))
torch.nn.Parameter(t)
torch.nn.Buffer(t)
torch.nn.Linear(3, 3)
torch.nn.Linear@call := layer(t)
torch.nn.Sequential()
torch.nn.ReLU()
torch.nn.ReLU@built-and-called := torch.nn.ReLU()(t)
torch.nn.Identity()
torch.nn.Dropout(0.1)
torch.nn.LayerNorm(3)
torch.nn.Conv2d(1, 1, 1)
torch.nn.Embedding(3, 3)
torch.nn.ModuleList([])
torch.nn.ModuleDict({})
torch.nn.ParameterList([])
torch.nn.Softmax(dim=-1)
torch.nn.CrossEntropyLoss()
torch.nn.MSELoss()
torch.nn.MSELoss@built-and-called := torch.nn.MSELoss()(t, t)
torch.nn.LSTM(3, 3)
torch.nn.LSTM@call := lstm(t)
torch.nn.GRU@call := gru(t)
torch.nn.RNN@call := rnn(t)
torch.nn.MultiheadAttention@call := attention(t, t, t)
torch.nn.Module.parameters := list(layer.parameters())
torch.nn.Module.named_parameters := list(layer.named_parameters())
torch.nn.Module.buffers := list(layer.buffers())
torch.nn.Module.modules := list(layer.modules())
torch.nn.Module.named_modules := list(layer.named_modules())
torch.nn.Module.children := list(layer.children())
torch.nn.Module.named_children := list(layer.named_children())
torch.nn.Module.state_dict := layer.state_dict()
torch.nn.Module.load_state_dict := layer.load_state_dict(state)
torch.nn.Module.train := layer.train()
torch.nn.Module.eval := layer.eval()
torch.nn.Module.to := layer.to('cpu')
torch.nn.Module.cpu := layer.cpu()
torch.nn.Module.half := layer.half()
torch.nn.Module.float := layer.float()
torch.nn.Module.zero_grad := layer.zero_grad()
torch.nn.Module.requires_grad_ := layer.requires_grad_(False)
torch.nn.Module.apply := layer.apply(three_of)
torch.nn.Module.register_buffer := layer.register_buffer('buffer', t)
torch.nn.Module.register_parameter := layer.register_parameter('extra', None)
torch.nn.Module.add_module := layer.add_module('extra', None)
torch.nn.Module.register_module := layer.register_module('extra', None)
torch.nn.Module.register_forward_hook := layer.register_forward_hook(hook)
torch.nn.Module.register_forward_pre_hook := layer.register_forward_pre_hook(hook)
torch.nn.Module.register_full_backward_hook := layer.register_full_backward_hook(hook)
torch.nn.Module.get_submodule := layer.get_submodule('')
torch.nn.Module.get_parameter := layer.get_parameter('weight')
torch.nn.Module.get_buffer := norm.get_buffer('running_mean')
torch.nn.Module.extra_repr := layer.extra_repr()
torch.nn.Module.__repr__ := repr(layer)
torch.nn.Module.share_memory := layer.share_memory()
torch.nn.Module.compile := layer.compile()
torch.nn.init.normal_(t)
torch.nn.init.xavier_uniform_(t)
torch.nn.init.xavier_normal_(t)
torch.nn.init.kaiming_uniform_(t)
torch.nn.init.kaiming_normal_(t)
torch.nn.init.zeros_(t)
torch.nn.init.ones_(t)
torch.nn.init.constant_(t, 1.0)
torch.nn.init.uniform_(t)
torch.nn.init.trunc_normal_(t)
torch.nn.init.orthogonal_(t)
torch.nn.init.eye_(t)
torch.nn.init.dirac_(t.reshape(4, 3, 1))
torch.nn.init.sparse_(t, 0.5)
torch.nn.init.calculate_gain('relu')
torch.nn.utils.clip_grad_norm_([param_with_grad], 1.0)
torch.nn.utils.clip_grad_value_([param_with_grad], 1.0)
torch.nn.utils.get_total_norm([t])
torch.nn.utils.parameters_to_vector(layer.parameters())
torch.nn.utils.vector_to_parameters(vector, layer.parameters())
torch.nn.utils.weight_norm(layer)
torch.nn.utils.parametrizations.weight_norm(layer)
torch.nn.utils.parametrizations.spectral_norm(layer)
torch.nn.utils.remove_weight_norm(torch.nn.utils.weight_norm(layer))
torch.nn.utils.spectral_norm(layer)
torch.nn.utils.fuse_conv_bn_eval(conv, norm2)
torch.nn.utils.rnn.pad_sequence([t, t])
torch.nn.utils.rnn.pack_padded_sequence(t[:, None], lengths)
torch.nn.utils.rnn.pad_packed_sequence(packed)
torch.nn.utils.rnn.pack_sequence([t, t])
torch.nn.utils.rnn.unpad_sequence(t[:, None], torch.tensor([4]))
torch.nn.utils.prune.l1_unstructured(layer, 'weight', 0.5)
torch.nn.utils.skip_init(torch.nn.Linear, 3, 3)
torch.nn.utils.stateless.functional_call(layer, dict(layer.named_parameters()), t)
torch.nn.attention.flex_attention.flex_attention(t[None, None], t[None, None], t[None, None])
torch.nn.attention.flex_attention.create_block_mask(mask_mod, None, None, 128, 128, device='cpu')
torch.nn.modules.utils._pair(1)
torch.optim.SGD(layer.parameters(), 0.1)
torch.optim.Adam(layer.parameters())
torch.optim.AdamW(layer.parameters())
torch.optim.Optimizer.step := optimizer.step()
torch.optim.Optimizer.zero_grad := optimizer.zero_grad()
torch.optim.Optimizer.state_dict := optimizer.state_dict()
torch.optim.lr_scheduler.LRScheduler.step := scheduler.step()
torch.optim.lr_scheduler.LRScheduler.get_last_lr := scheduler.get_last_lr()
torch.amp.GradScaler('cpu')
torch.amp.GradScaler.scale := scaler.scale(t)
torch.amp.is_autocast_available('cpu')
torch.amp.custom_fwd(f, device_type='cpu')
torch.profiler.record_function('x')
torch.profiler.profile()
torch.library.custom_op := custom_double(t)
torch.ops.aten.add := torch.ops.aten.add(t, t)
torch.ops.aten.add.Tensor := torch.ops.aten.add.Tensor(t, t)
torch.Size.numel := t.shape.numel()
torch.testing.assert_close(t, t)
torch.testing.make_tensor((2,), device='cpu', dtype=torch.float32)
torch.serialization.add_safe_globals([])
torch.multiprocessing.get_sharing_strategy()
torch.backends.quantized.engine := torch.backends.quantized.engine
torch.ao.quantization.get_default_qconfig()
torch.ao.quantization.FakeQuantize()
torch._foreach_add([t], [t])
torch._foreach_norm([t])
torch._foreach_mul_([t], 2.0)
torch.fake_quantize_per_tensor_affine(t, 0.1, 0, 0, 255)
torch.triu_indices(3, 3)
torch.tril_indices(3, 3)
torch.combinations(t[0])
torch.cartesian_prod(t[0], t[0])
torch.normal(t, t.exp())
torch.bernoulli(t.sigmoid())
torch.multinomial(t.exp(), 2)
torch.randperm(4)
torch.randint(0, 3, (2,))
torch.rand(2)
torch.randn(2)
torch.rand_like(t)
torch.poisson(t.exp())
torch.segment_reduce(t, 'max', lengths=lengths)
torch.nn.functional.ctc_loss(t[:, None].log_softmax(-1), i[:1, :2], lengths, torch.tensor([2]))
torch.nn.functional.embedding(i, t)
torch.nn.functional.embedding_bag(i, t)
torch.nn.functional.gumbel_softmax(t)
torch.nn.functional.dropout(t)
torch.nn.functional.scaled_dot_product_attention(t[None], t[None], t[None])
torch.nn.functional.interpolate(t[None, None], scale_factor=2.0)
torch.nn.functional.interpolate@tensor-size := torch.nn.functional.interpolate(t[None, None], size=(i[0, 0], 4))
torch.nn.functional.pad@tensor := torch.nn.functional.pad(t, (0, i[0, 0]))
torch.special.logsumexp(t, 0)
torch.einsum('ij,ij->i', t, t)
torch.block_diag(t, t)
torch.broadcast_tensors(t, t)
torch.broadcast_shapes((2, 1), (1, 3))
torch.meshgrid(t[0], t[0], indexing='ij')
torch.tensordot(t, t.T, 1)
torch.lu(square_matrix)
torch.stft(t.flatten(), 4, window=torch.ones(4), return_complex=True)
torch.istft(spectrum, 4, window=torch.ones(4))
torch.cdist(t, t)
torch.atleast_2d(t)
torch.split(t, 2)
torch.unravel_index(i[:, 0], (3, 3))
torch.histogramdd(t, [2, 2, 2])
torch.histc(t)
torch.quantile(t, 0.5)
torch.allclose(t, t)
torch.equal(t, t)
torch.unique(i)
torch.unique_consecutive(i)
torch.bincount(i[0])
torch.bincount@minlength := torch.bincount(i[0], minlength=8)
torch.nonzero(t)
torch.argwhere(t)
torch.masked_select(t, b)
torch.nonzero_static(t, size=4)
torch.Tensor.nonzero := t.nonzero()
torch.Tensor.nonzero@tuple := t.nonzero(as_tuple=True)
torch.Tensor.unique := i.unique()
torch.Tensor.unique_consecutive := i.unique_consecutive()
torch.Tensor.masked_select := t.masked_select(b)
torch.Tensor.masked_scatter := t.masked_scatter(b, t)
torch.Tensor.masked_fill := t.masked_fill(b, 0.0)
torch.Tensor.masked_fill@tensor-value := t.masked_fill(b, t.sum())
torch.Tensor.bincount := i[0].bincount()
torch.Tensor.argwhere := t.argwhere()
torch.Tensor.index_put_ := t.clone().index_put_((i[:, 0],), torch.ones(3))
torch.Tensor.index_put_@mask := t.clone().index_put_((b,), t.sum())
torch.Tensor.allclose := t.allclose(t)
torch.Tensor.equal := t.equal(t)
torch.Tensor.is_nonzero := t.sum().is_nonzero()
"""

CONTEXTS = r"""
torch.no_grad()
torch.enable_grad()
torch.set_grad_enabled(False)
torch.inference_mode()
torch.autocast('cpu', torch.bfloat16)
torch.amp.autocast('cpu', torch.bfloat16)
torch.cpu.amp.autocast()
torch.cuda.amp.autocast()
torch.amp.autocast_mode.autocast('cpu')
torch.autograd.no_grad()
torch.autograd.enable_grad()
torch.autograd.inference_mode()
torch.autograd.set_grad_enabled(False)
torch.autograd.grad_mode.set_multithreading_enabled(False)
torch.autograd.detect_anomaly()
torch.autograd.set_detect_anomaly(True)
torch.autograd.graph.saved_tensors_hooks(f, f)
torch.autograd.graph.save_on_cpu()
torch.autograd.graph.disable_saved_tensors_hooks('x')
torch.autograd.graph.allow_mutation_on_saved_tensors()
torch.autograd.forward_ad.dual_level()
torch.autograd.profiler.profile()
torch.autograd.profiler.record_function('x')
torch.autograd.profiler.emit_nvtx()
torch.profiler.profile()
torch.profiler.record_function('x')
torch.device('cpu')
torch.device@variable := device
torch.random.fork_rng()
torch.backends.cudnn.flags(enabled=False)
torch.backends.mkldnn.flags(enabled=False)
torch.backends.cuda.sdp_kernel()
torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH)
torch.cuda.stream(None)
torch.cuda.StreamContext(None)
torch.cuda.device(-1)
torch.cuda.device_of(t)
torch.cuda.nvtx.range('x')
torch.cpu.stream(None)
torch.cpu.StreamContext(None)
torch.accelerator.device_index(None)
torch.jit.optimized_execution(True)
torch.jit.fuser('fuser0')
torch.nn.utils.parametrize.cached()
torch.nn.utils.stateless._reparametrize_module(layer, {})
torch.utils.checkpoint.set_checkpoint_early_stop(False)
torch.utils.checkpoint.set_checkpoint_debug_enabled(False)
torch.utils.checkpoint.create_selective_checkpoint_contexts := selective_contexts([])[0]
torch.utils._python_dispatch._disable_current_modes()
torch.utils.flop_counter.FlopCounterMode(display=False)
torch.overrides.TorchFunctionMode()
torch._C.DisableTorchFunction()
torch._C.DisableTorchFunctionSubclass()
torch._C._DisableFuncTorch()
torch._dynamo.config.patch(verbose=False)
torch._dynamo.set_stance('default')
torch.compiler.set_stance('default')
torch.fx.experimental.proxy_tensor.disable_proxy_modes_tracing()
torch.fx.traceback.annotate({'a': 1})
torch.fx.traceback.preserve_node_meta()
torch.testing._internal.common_utils.freeze_rng_state()
torch.distributed.algorithms.join.Join([])
torch.library._scoped_library('gblint_probe', 'FRAGMENT')
torch.sparse.check_sparse_tensor_invariants(True)
torch.serialization.skip_data()
torch.serialization.safe_globals([])
torch.multiprocessing.Lock := torch.multiprocessing.Lock()
threading.Lock := lock
threading.RLock := rlock
threading.Condition := condition
threading.Semaphore := semaphore
threading.Lock@new := threading.Lock()
multiprocessing.Lock := multiprocessing.Lock()
concurrent.futures.ThreadPoolExecutor()
open := open(path)
io.StringIO()
pathlib.Path.open := file.open()
tempfile.TemporaryDirectory()
tempfile.NamedTemporaryFile()
tempfile.TemporaryFile()
contextlib.nullcontext()
contextlib.suppress(ValueError)
contextlib.closing(text_io)
contextlib.redirect_stdout(text_io)
contextlib.redirect_stderr(text_io)
contextlib.ExitStack()
contextlib.chdir('.')
contextlib.contextmanager := managed()
contextlib.AbstractContextManager := Managed()
warnings.catch_warnings()
warnings.catch_warnings@record := warnings.catch_warnings(record=True)
decimal.localcontext()
numpy.errstate(all='ignore')
numpy.printoptions(precision=3)
unittest.mock.patch('os.getcwd')
subprocess.Popen(['true'])
cProfile.Profile()
zipfile.ZipFile(io.BytesIO(), 'w')
os.scandir('.')
memoryview := memoryview(b'x')
"""
