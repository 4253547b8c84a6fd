/*
 * C++: locks of static objects, before main and after it, and what the standard library makes of mutexes and
 * condition variables. Its once-functions are none of the recorded kinds.
 */
#include "tests/host/lockguest.h"

#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <thread>

namespace
{

enum { TIMES = 500 };

struct early_user {
	std::mutex mutex;
	std::recursive_mutex recursive;

	early_user()
	{
		for (int i = 0; i < TIMES; i++) {
			std::lock_guard<std::mutex> hold(mutex);
			std::lock_guard<std::recursive_mutex> outer(recursive), inner(recursive);
		}
	}

	~early_user()
	{
		std::lock_guard<std::mutex> hold(mutex);
	}
};

early_user early;
std::shared_mutex shared;
std::mutex queue_mutex;
std::condition_variable queue_filled;
std::once_flag once;
int queued, made;

void consume()
{
	std::unique_lock<std::mutex> hold(queue_mutex);
	queue_filled.wait(hold, [] { return queued > 0; });
	queued--;
}

int lock_shared(void *)
{
	shared.lock();
	return 0;
}

int unlock_shared(void *)
{
	shared.unlock();
	return 0;
}

} // namespace

int main()
{
	for (int i = 0; i < TIMES; i++) {
		std::shared_lock<std::shared_mutex> reading(shared);
		std::call_once(once, [] { made++; });
	}
	contend(lock_shared, unlock_shared, nullptr, false);
	std::thread consumer(consume);
	{
		std::lock_guard<std::mutex> hold(queue_mutex);
		queued = 1;
	}
	queue_filled.notify_one();
	consumer.join();
	{
		std::unique_lock<std::mutex> hold(queue_mutex);
		bool in_time =
			queue_filled.wait_for(hold, std::chrono::milliseconds(2), [] { return queued > 0; });
		check(!in_time);
	}
	check(made == 1 && queued == 0);
	lock_fact("mutex", early.mutex.native_handle(), (lock_counts){TIMES + 1, TIMES + 1, 0, 0, 0});
	lock_fact("mutex", early.recursive.native_handle(), (lock_counts){2 * TIMES, 2 * TIMES, 0, 0, 0});
	lock_fact("rwlock", shared.native_handle(), (lock_counts){TIMES + 2, TIMES + 2, TIMES, 1, 0});
	lock_fact("mutex", queue_mutex.native_handle(), (lock_counts){3, 3, 0, ANY, 0});
	lock_fact("cond", queue_filled.native_handle(), (lock_counts){ANY, 1, 0, ANY, 1});
	say("done");
	return 0;
}
