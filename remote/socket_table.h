#pragma once

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <map>

namespace headrace::remote {

// The sockets of a client's thread. libcurl tells a transfer's socket only after its end, so it is found by
// its port: what libcurl does tell before it sends a request. Outlives the connections. One thread.
class SocketTable {
 public:
  void Add(int socket) { ports_[socket] = 0; }
  // For CURLOPT_CLOSESOCKETFUNCTION, with the table as its data.
  static int Close(void* self, curl_socket_t socket) {
    static_cast<SocketTable*>(self)->ports_.erase(socket);
    return ::close(socket);
  }
  // The socket with this port on our side; CURL_SOCKET_BAD: none.
  [[nodiscard]] curl_socket_t Find(int local_port) {
    for (auto& [socket, port] : ports_) {
      if (port == 0) port = PortOf(socket);
      if (port == local_port) return socket;
    }
    return CURL_SOCKET_BAD;
  }

 private:
  // 0: it has none yet.
  static int PortOf(int socket) {
    sockaddr_storage address{};
    socklen_t size = sizeof(address);
    if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
    if (address.ss_family == AF_INET) {
      return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
    }
    return address.ss_family == AF_INET6
               ? ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port)
               : 0;
  }

  std::map<int, int> ports_;  // by socket; 0: not known yet
};

}  // namespace headrace::remote
